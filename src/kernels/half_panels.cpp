#include "kernels/half_panels.h"

#include <algorithm>

namespace heed {

void write_half_panel(const HostView<const uint16_t>& rows, uint32_t* panel) {
  std::fill_n(panel, half_panel_words(rows.columns), 0U);
  for (int64_t r = 0; r < rows.rows; ++r) {
    const uint16_t* const values = rows.row(r);
    for (int64_t k = 0; k < rows.columns; ++k) {
      panel[k / 2 * kHalfPanelRows + r] |= static_cast<uint32_t>(values[k]) << (16 * (k % 2));
    }
  }
}

}  // namespace heed
