// How the ranks of a job share a training run out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

// Copies of the model that each train on a part of an update's shards; stages that each hold some of its layers; and
// parts that each hold a share of every matrix. A rank has a place along all three.
struct Layout {
  int data = 0;  // 0: as many as there are ranks for
  int pipeline = 1;
  int tensor = 1;

  bool operator==(const Layout&) const = default;
  bool divides_model() const { return pipeline > 1 || tensor > 1; }
};

// Where a rank stands, each counted from 0.
struct LayoutPlace {
  int data = 0, pipeline = 0, tensor = 0;

  bool operator==(const LayoutPlace&) const = default;
};

// Which ranks a group holds together; its number in Ranks::group. Groups of one kind share no rank.
enum class RankGroup : uint8_t {
  data = 1,      // the copies of one part of the model
  pipeline = 2,  // the stages of one copy, in order
  tensor = 3,    // the parts of one stage
  part = 4,      // all that hold the same part of their stages' matrices
};

// "data=2,pipeline=2": each name at most once, in any order; those left out keep their defaults, and so does an empty
// text. ConfigError begins with `where`.
Layout parse_layout(std::string_view text, std::string_view where);
std::string show_layout(const Layout& layout);

// The layout for a job of this many ranks, with `data` filled in. ConfigError, beginning with `where`, when the layout
// needs another number of ranks.
Layout layout_for(Layout layout, int ranks, std::string_view where);

// rank = (data * pipelines + pipeline) * tensors + tensor, so that the parts that talk most are neighbours.
int rank_at(const Layout& layout, const LayoutPlace& place);
LayoutPlace place_of(const Layout& layout, int rank);
// The ranks of the group of this kind that `rank` belongs to, in order.
std::vector<int> members_of(const Layout& layout, RankGroup group, int rank);

}  // namespace heed
