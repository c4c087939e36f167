// Which rank updates which part of the weights.
#pragma once

#include <span>
#include <vector>

#include "nn/weights/trainables.h"

namespace heed {

// One of the ranks that divide the weights.
struct RankOf {
  int rank, count;
};

// Each slice has one owner, who has its master and its optimizer's state. What ranks own together is everything, and
// about equal; it depends on the weights' sizes and the number of ranks alone.
class SliceOwners {
 public:
  // One rank owns everything.
  explicit SliceOwners(const Trainables& trainables);
  // The ranks among which each weight's slices are divided, in order; none: all.
  using Holders = std::vector<std::vector<int>>;
  // Slices go one by one to the rank that has least so far, of those that hold the weight. `together` has one value for
  // each weight: whether all its slices have one owner; none: no.
  SliceOwners(const Trainables& trainables, const std::vector<bool>& together, RankOf own, const Holders& holders = {});

  std::span<const WeightSlice> slices() const { return slices_; }
  int owner(size_t slice) const { return owners_[slice]; }
  bool is_own(size_t slice) const { return owners_[slice] == rank_; }
  bool owns_all() const { return owns_all_; }

 private:
  std::vector<WeightSlice> slices_;
  std::vector<int> owners_;
  int rank_ = 0;
  bool owns_all_ = true;
};

}  // namespace heed
