#include "kernels/cpu/machine/row_groups.h"

#include <numeric>

namespace heed::cpu {

// A stable counting sort.
RowGroups::RowGroups(const ConstView& keys, int64_t groups) : begins_(static_cast<size_t>(groups) + 1, 0) {
  const HostView<const int32_t> key = host<int32_t>(keys);
  for (int64_t r = 0; r < key.columns; ++r) {
    if (key.data[r] >= 0) {
      ++begins_[static_cast<size_t>(key.data[r]) + 1];
    }
  }
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  std::vector<int64_t> next(begins_.begin(), begins_.end() - 1);
  rows_.resize(static_cast<size_t>(begins_.back()));
  for (int64_t r = 0; r < key.columns; ++r) {
    if (key.data[r] >= 0) {
      rows_[static_cast<size_t>(next[static_cast<size_t>(key.data[r])]++)] = r;
    }
  }
}

}  // namespace heed::cpu
