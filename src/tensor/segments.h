// A ragged batch: sequences stored end to end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heed {

// Sequence s is rows [begin(s), end(s)) of a [tokens, model] matrix: there is no padding to mask.
class Segments {
 public:
  Segments() : offsets_{0} {}
  explicit Segments(std::span<const int64_t> lengths, uint64_t first_row = 0);
  static Segments equal(int64_t count, int64_t length);

  int64_t count() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t rows() const { return offsets_.back(); }
  int64_t begin(int64_t s) const { return offsets_[static_cast<size_t>(s)]; }
  int64_t end(int64_t s) const { return offsets_[static_cast<size_t>(s) + 1]; }
  int64_t length(int64_t s) const { return end(s) - begin(s); }
  std::span<const int64_t> offsets() const { return offsets_; }  // count + 1: where each begins, and the end
  int64_t max_length() const { return max_length_; }

  // Index of row 0 in the whole batch, when this is one shard of it: random draws are numbered by it.
  uint64_t first_row() const { return first_row_; }

 private:
  std::vector<int64_t> offsets_;
  int64_t max_length_ = 0;
  uint64_t first_row_ = 0;
};

}  // namespace heed
