#include "train/learner/distribution.h"

#include <algorithm>
#include <numeric>

#include "base/text/plural.h"

namespace heed {
namespace {

constexpr std::string_view kLayoutKey = "recipe: training.layout";
// Groups of ranks that are left, by how many there were before; the layout's groups have smaller numbers.
constexpr int kGroupsOfRemaining = 64;

}  // namespace

std::vector<std::string> settings_against_parts(const Recipe& recipe) {
  std::vector<std::string> settings;
  const auto add_if = [&](bool condition, std::string_view setting) {
    if (condition) {
      settings.emplace_back(setting);
    }
  };
  add_if(recipe.optimizer.kind == OptimizerKind::muon, "optimizer.kind = \"muon\": it needs whole matrices");
  add_if(recipe.adapter.rank > 0, "an adapter");
  add_if(!recipe.training.from.empty(), "training.from");
  add_if(!recipe.training.freeze.empty(), "training.freeze");
  return settings;
}

Distribution::Distribution(const Recipe& recipe, const Ranks& ranks)
    : all_(ranks),
      layout_(parse_layout(recipe.training.layout, ranks.count(), kLayoutKey)),
      copies_(layout_.divides_model() ? group(RankGroup::data) : all_),
      holders_(layout_.tensor == 1 ? all_ : group(RankGroup::part)) {
  require_possible(recipe);
}

Ranks Distribution::group(RankGroup kind) const {
  return all_.group(members_of(layout_, kind, all_.rank()), static_cast<int>(kind));
}

// Called before the text is read, which may take long: vocabularies that the text decides are assumed to be large
// enough.
void Distribution::require_division(ModelConfig model) const {
  for (int64_t* vocabulary : {&model.source_vocabulary, &model.target_vocabulary}) {
    *vocabulary = *vocabulary == 0 ? layout_.tensor : *vocabulary;
  }
  for (const std::string& obstacle : obstacles_to_parts(model, layout_.tensor)) {
    throw ConfigError(fmt::format("{}: {}", kLayoutKey, obstacle));
  }
  (void)StagePlan(model, layout_.pipeline);
}

void Distribution::require_possible(const Recipe& recipe) const {
  if (divides_matrices()) {
    for (const std::string& setting : settings_against_parts(recipe)) {
      throw ConfigError(
          fmt::format("{}: {} divides matrices, which does not go with {}", kLayoutKey, to_text(layout_), setting));
    }
  }
  require_division(recipe.model);
  require<ConfigError>(!divides_model() || recipe.training.local_updates == 0, kLayoutKey,
                       "{} divides the model, but with training.local_updates each rank has a whole one",
                       to_text(layout_));
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
