#include "kernels/integer_panels.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace heed {

// A cache line of each row at a time, so that the part of the panel that they are spread over stays in the first-level
// cache.
void write_int8_panel(const HostView<const int8_t>& rows, uint32_t* panel, int32_t* sums) {
  constexpr int64_t kWordsOfLine = 16;
  const int64_t whole = rows.columns / 4, steps = steps_of_int8(rows.columns);
  if (rows.rows < kPanelRows || whole < steps) {
    std::fill_n(panel, kPanelRows * steps, 0U);
  }
  for (int64_t first = 0; first < whole; first += kWordsOfLine) {
    const int64_t count = std::min(kWordsOfLine, whole - first);
    for (int64_t r = 0; r < rows.rows; ++r) {
      uint32_t words[kWordsOfLine];
      std::memcpy(words, rows.row(r) + 4 * first, static_cast<size_t>(4 * count));
      for (int64_t i = 0; i < count; ++i) {
        panel[(first + i) * kPanelRows + r] = words[i];
      }
    }
  }
  for (int64_t r = 0; r < rows.rows; ++r) {
    if (whole < steps) {
      std::memcpy(panel + whole * kPanelRows + r, rows.row(r) + 4 * whole,
                  static_cast<size_t>(rows.columns - 4 * whole));
    }
    if (sums != nullptr) {
      sums[r] = std::accumulate(rows.row(r), rows.row(r) + rows.columns, int32_t{0});
    }
  }
}

void write_int4_panel(const HostView<const int8_t>& rows, uint32_t* panel) {
  std::fill_n(panel, int4_panel_words(rows.columns), 0U);
  for (int64_t r = 0; r < rows.rows; ++r) {
    const int8_t* const values = rows.row(r);
    for (int64_t k = 0; k < rows.columns; ++k) {
      const auto value = static_cast<uint32_t>(values[k] + 8);
      panel[k / 8 * kPanelRows + r] |= value << (8 * (k % 4) + 4 * (k % 8 / 4));
    }
  }
}

}  // namespace heed
