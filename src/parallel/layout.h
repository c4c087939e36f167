// How the ranks of a job share a training run out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

inline constexpr int kMaxRanks = 1 << 16;

// `data` copies of the model that each train on a part of an update's shards; each copy in `pipeline` stages that hold
// some of its layers; each stage in `tensor` parts that hold a share of every matrix.
struct Layout {
  int data = 1, pipeline = 1, tensor = 1;

  bool operator==(const Layout&) const = default;
  int64_t ranks() const { return int64_t{data} * pipeline * tensor; }
  bool divides_model() const { return pipeline > 1 || tensor > 1; }
};

// The copy, the stage and the part that a rank has, each counted from 0.
struct LayoutPosition {
  int data = 0, pipeline = 0, tensor = 0;

  bool operator==(const LayoutPosition&) const = default;
};

// Which ranks a group holds together; its number in Ranks::group. Groups of one kind share no rank.
enum class RankGroup : uint8_t {
  data = 1,      // the copies of one part of the model
  pipeline = 2,  // the stages of one copy, in order
  tensor = 3,    // the parts of one stage
  part = 4,      // all that hold the same part of their stages' matrices
};

// "data=2,pipeline=2" for a job of this many ranks: each name at most once, in any order. `pipeline` and `tensor` are 1
// if they are left out, and `data` is as many copies as there are ranks for. 0 ranks: as many as the layout needs.
// ConfigError, beginning with `where`, for what is not a layout, and for one that needs another number of ranks.
Layout parse_layout(std::string_view text, int64_t ranks, std::string_view where);
std::string to_text(const Layout& layout);  // all three names

// rank = (data * pipelines + pipeline) * tensors + tensor, so that the parts that talk most are neighbours.
int rank_at(const Layout& layout, const LayoutPosition& position);
LayoutPosition position_of(const Layout& layout, int rank);
// The ranks of the group of this kind that `rank` belongs to, in order.
std::vector<int> members_of(const Layout& layout, RankGroup group, int rank);

}  // namespace heed
