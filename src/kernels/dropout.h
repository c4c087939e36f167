// Dropout, as what a kernel needs to draw the same mask again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/random.h"
#include "base/strong.h"

namespace heed {

// Value (row, column) is dropped when the 16-bit draw of (key, first_row + row, first_column + column) is below
// `threshold`; the others are scaled by 1 / (1 - threshold / 65536), so that the expectation is exact for the rounded
// probability.
struct Dropout {
  RandomKey key;
  uint64_t first_row = 0;
  uint32_t threshold = 0;  // 0: nothing is dropped, nothing is drawn
  // Where the columns are some of those that a whole model has here: the number of the first. A multiple of
  // kColumnStep.
  uint32_t first_column = 0;

  static constexpr int64_t kColumnStep = 16;  // the columns of the longest vector

  static Dropout none() { return {}; }
  static Dropout of(Probability p, RandomKey key, uint64_t first_row) {
    // At most 65535: even with a probability just below one, some values are kept, and scale() stays finite.
    const auto threshold = static_cast<uint32_t>(std::lround(static_cast<double>(p.value) * 65536.0));
    return {key, first_row, std::min(threshold, 65535U), 0};
  }

  constexpr bool active() const { return threshold > 0; }
  constexpr float scale() const { return static_cast<float>(65536.0 / (65536.0 - threshold)); }
  // The factor of one value: 0 or scale(). Vector kernels compute the same, many columns at a time.
  constexpr float factor(const RowRandom& row, uint32_t column) const {
    return row.draw16(first_column + column) < threshold ? 0.0F : scale();
  }
  constexpr RowRandom row(int64_t index) const { return RowRandom(key, first_row + static_cast<uint64_t>(index)); }
};

}  // namespace heed
