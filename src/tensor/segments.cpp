#include "tensor/segments.h"

#include <algorithm>

#include "base/errors.h"

namespace heed {

Segments::Segments(std::span<const int64_t> lengths, uint64_t first_row) : offsets_{0}, first_row_(first_row) {
  offsets_.reserve(lengths.size() + 1);
  for (const int64_t length : lengths) {
    require(length >= 0, "segments", "a sequence of {} tokens", length);
    offsets_.push_back(offsets_.back() + length);
    max_length_ = std::max(max_length_, length);
  }
}

Segments Segments::equal(int64_t count, int64_t length) {
  return Segments(std::vector<int64_t>(static_cast<size_t>(count), length));
}

}  // namespace heed
