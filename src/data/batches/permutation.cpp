#include "data/batches/permutation.h"

#include <cmath>

#include "base/errors.h"
#include "base/rounding.h"

namespace heed {

Permutation::Permutation(RandomKey key, int64_t size) : size_(static_cast<uint64_t>(size)) {
  ensure(size > 0 && size <= int64_t{1} << 62, "permutation", "of {} indices", size);
  rows_ = static_cast<uint64_t>(std::sqrt(static_cast<double>(size_)));
  while (rows_ * rows_ < size_) {
    ++rows_;
  }
  columns_ = ceil_div(size_, rows_);
  for (size_t round = 0; round < kRounds; ++round) {
    keys_[round] = key.derive(round).bits;
  }
}

}  // namespace heed
