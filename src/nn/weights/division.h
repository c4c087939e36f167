// How ranks that hold a model in parts divide its weights.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/parts.h"

namespace heed {

// What a rank has of a weight, as the layer that registers the weight says. Of a vector, the rows are its elements.
struct Division {
  enum class Kind : uint8_t {
    none,             // all of it, and its whole gradient
    rows,             // a share of its rows
    columns,          // a share of its columns
    shared_by_heads,  // all of it, and of its gradient what the rank's own heads contribute
  };

  Kind kind = Kind::none;
  // Rows of the matrices that are stacked in one, each divided on its own; empty: one.
  std::vector<int64_t> stacked = {};

  static Division none() { return {}; }
  static Division rows(std::vector<int64_t> stacked = {}) { return {Kind::rows, std::move(stacked)}; }
  static Division columns() { return {Kind::columns}; }
  static Division shared_by_heads() { return {Kind::shared_by_heads}; }
};

// The elements of a whole weight that a rank has: of each of `repeats` equal stretches of the whole, the same ranges.
class RankElements {
 public:
  explicit RankElements(const Shape& whole);  // all
  RankElements(const Shape& whole, const Division& division, const Parts& parts, int64_t index);

  const Shape& whole() const { return whole_; }
  const Shape& shape() const { return shape_; }
  bool is_whole() const { return shape_ == whole_; }

  // Calls use(first of the rank, first in the whole, count) for stretches of neighbours, in order.
  template <class Use>
  void each_stretch(Use use) const {
    int64_t first = 0;
    for (int64_t repeat = 0; repeat < repeats_; ++repeat) {
      for (const PartRange& range : ranges_) {
        use(first, repeat * period_ + range.first, range.count);
        first += range.count;
      }
    }
  }

 private:
  Shape whole_, shape_;
  int64_t repeats_ = 1, period_;
  std::vector<PartRange> ranges_;  // within a period
};

}  // namespace heed
