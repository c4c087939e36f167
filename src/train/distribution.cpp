#include "train/distribution.h"

#include <algorithm>
#include <numeric>

#include "base/plural.h"

namespace heed {
namespace {

constexpr std::string_view kLayoutKey = "recipe: training.layout";
// Groups of ranks that are left, by how many there were before; the layout's groups have smaller numbers.
constexpr int kGroupsOfRemaining = 64;

}  // namespace

Distribution::Distribution(const Recipe& recipe, const Ranks& ranks)
    : all_(ranks),
      layout_(layout_for(parse_layout(recipe.training.layout, kLayoutKey), ranks.count(), kLayoutKey)),
      copies_(layout_.divides_model() ? group(RankGroup::data) : all_),
      holders_(layout_.tensor == 1 ? all_ : group(RankGroup::part)) {}

Ranks Distribution::group(RankGroup kind) const {
  return all_.group(members_of(layout_, kind, all_.rank()), static_cast<int>(kind));
}

void Distribution::require_possible(const Recipe& recipe) const {
  if (divides_matrices()) {
    const auto refuse = [&](bool condition, std::string_view what) {
      require<ConfigError>(!condition, kLayoutKey, "{} divides matrices, which does not go with {}",
                           show_layout(layout_), what);
    };
    refuse(recipe.optimizer.kind == OptimizerKind::muon, "optimizer.kind = \"muon\": it needs whole matrices");
    refuse(recipe.adapter.rank > 0, "an adapter");
    refuse(!recipe.training.from.empty(), "training.from");
    refuse(!recipe.training.freeze.empty(), "training.freeze");
  }
  require<ConfigError>(!divides_model() || recipe.training.local_updates == 0, kLayoutKey,
                       "{} divides the model, but with training.local_updates each rank has a whole one",
                       show_layout(layout_));
  const int64_t shards = std::max(recipe.training.shards, recipe.training.accumulate);
  require<ConfigError>(
      layout_.data <= shards, "recipe",
      "an update has {} shard{}, which is too few for {} ranks: set training.shards to a multiple of {}", shards,
      plural(shards), layout_.data, std::lcm(recipe.training.accumulate, layout_.data));
}

std::vector<int> Distribution::holders_of_stage(int stage) const {
  std::vector<int> copies;
  for (int rank = stage; rank < holders_.count(); rank += layout_.pipeline) {
    copies.push_back(rank);
  }
  return copies;
}

int Distribution::leave_out_lost() {
  const int before = all_.count();
  all_ = all_.remaining(kGroupsOfRemaining + before);
  layout_.data = all_.count();
  copies_ = holders_ = all_;
  return before - all_.count();
}

}  // namespace heed
