// A batch's rows, grouped by the row of another matrix that each belongs to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace heed::cpu {

// Each group keeps the order of the batch: when one worker sums a group in this order, the result does not depend on
// the number of workers.
class RowGroups {
 public:
  RowGroups(const ConstView& keys, int64_t groups);  // keys: i32 [1, rows], each below `groups`; negative: of no group

  std::span<const int64_t> of(int64_t group) const {
    const size_t begin = static_cast<size_t>(begins_[static_cast<size_t>(group)]);
    return {rows_.begin() + static_cast<ptrdiff_t>(begin),
            static_cast<size_t>(begins_[static_cast<size_t>(group) + 1]) - begin};
  }

 private:
  std::vector<int64_t> begins_, rows_;
};

}  // namespace heed::cpu
