// Rows of a packed matrix, brought together into panels of their own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

constexpr int64_t kMaxPanelRows = 64;

// Panels of `width` rows, each [steps][width] words. Row r of a panel has the words at `word_of_row(r)` of each step.
template <class Word>
struct PanelLayout {
  int64_t width, steps;
  int64_t (*word_of_row)(int64_t row, int64_t width) = [](int64_t row, int64_t) { return row; };

  int64_t words() const { return width * steps; }
};

// Writes `panels` whole panels with these rows of `from`, and zeros after the last one. Step by step, so that a panel
// is written from its first word to its last, and those that its rows come from are read in the same order.
template <class Word>
void select_panel_rows(Context& context, const PanelLayout<Word>& layout, const Word* from,
                       std::span<const int32_t> rows, int64_t panels, Word* to) {
  const int64_t width = layout.width, all = static_cast<int64_t>(rows.size());
  context.pool.run(panels, [&](int64_t panel, int) {
    const int64_t first = std::min(all, panel * width), count = std::min(width, all - first);
    std::array<const Word*, kMaxPanelRows> sources;
    std::array<int64_t, kMaxPanelRows> words_of_rows;
    for (int64_t r = 0; r < count; ++r) {
      const int64_t row = rows[static_cast<size_t>(first + r)];
      sources[static_cast<size_t>(r)] = from + row / width * layout.words() + layout.word_of_row(row % width, width);
      words_of_rows[static_cast<size_t>(r)] = layout.word_of_row(r, width);
    }
    Word* const into = to + panel * layout.words();
    if (count < width) {
      std::fill_n(into, layout.words(), Word{0});
    }
    for (int64_t step = 0; step < layout.words(); step += width) {
      for (size_t r = 0; r < static_cast<size_t>(count); ++r) {
        into[step + words_of_rows[r]] = sources[r][step];
      }
    }
  });
}

}  // namespace heed::cpu
