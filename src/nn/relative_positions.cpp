#include "nn/relative_positions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "kernels/host_copy.h"
#include "ops/attention/spread_buckets.h"

namespace heed {
namespace {

constexpr int64_t kFirstDistances = 64;

Var alibi_table(Backend& backend, std::span<const double> slopes, int64_t first, int64_t last) {
  const auto heads = static_cast<int64_t>(slopes.size());
  const DType type = backend.master_type();
  Tensor table = keep_readable(backend, {heads, last - first + 1}, type);
  HostRoom room(backend, table.view());
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t distance = first; distance <= last; ++distance) {
      const double score = -slopes[static_cast<size_t>(head)] * static_cast<double>(std::abs(distance));
      if (type == DType::f64) {
        host<double>(room.view())(head, distance - first) = score;
      } else {
        host<float>(room.view())(head, distance - first) = static_cast<float>(score);
      }
    }
  }
  room.put();
  return Var(std::move(table), 0);
}

}  // namespace

std::vector<double> alibi_slopes(Heads head_count) {
  const auto heads = static_cast<uint64_t>(head_count.value);
  const uint64_t power = std::bit_floor(heads);
  std::vector<double> slopes;
  for (uint64_t h = 1; h <= power; ++h) {
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(power)));
  }
  for (uint64_t h = 1; slopes.size() < heads; h += 2) {
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(2 * power)));
  }
  return slopes;
}

RelativeScores Alibi::scores(Pass& pass, int64_t furthest) const {
  const std::lock_guard lock(mutex_);
  if (known_.table.empty() || -known_.first < furthest || known_.table.type() != pass.backend().master_type()) {
    const int64_t reaching = std::max({furthest, kFirstDistances, -2 * known_.first});
    known_.first = -reaching;
    const std::vector<double> slopes = alibi_slopes(heads_);
    const std::span<const double> own =
        std::span(slopes).subspan(static_cast<size_t>(own_.first), static_cast<size_t>(own_.count));
    known_.table = alibi_table(pass.backend(), own, -reaching, reach_ == Visibility::Reach::causal ? 0 : reaching);
  }
  return known_;
}

int64_t BucketRule::bucket_of(int64_t distance) const {
  const bool both_ways = reach == Visibility::Reach::full;
  const int64_t count = both_ways ? buckets / 2 : buckets;
  const int64_t first = both_ways && distance > 0 ? count : 0;
  const int64_t away = both_ways ? std::abs(distance) : std::max<int64_t>(0, -distance);
  const int64_t exact = count / 2;
  if (away < exact) {
    return first + away;
  }
  const double share = std::log(static_cast<double>(away) / static_cast<double>(exact)) /
                       std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
  const auto beyond = static_cast<int64_t>(share * static_cast<double>(count - exact));
  return first + std::min(count - 1, exact + beyond);
}

BucketBias::BucketBias(const Scope& scope, Heads heads, const BucketRule& rule, Initialization initialization)
    : table_(&scope.add("relative_bias", WeightRole::relative_bias, {rule.buckets, heads.value}, WeightUse::vector,
                        initialization, Division::columns())),
      first_(-rule.max_distance) {
  const int64_t last = rule.reach == Visibility::Reach::causal ? 0 : rule.max_distance;
  for (int64_t distance = first_; distance <= last; ++distance) {
    buckets_.push_back(static_cast<int32_t>(rule.bucket_of(distance)));
  }
}

RelativeScores BucketBias::scores(Pass& pass, int64_t) const {
  return {
      .table = spread_buckets(pass, *table_, buckets_), .first = first_, .gradient = RelativeScores::Gradient::wanted};
}

}  // namespace heed
