// Rotary positions: each pair of columns (a, b) of a head is rotated by an angle proportional to the row's position.
//   a' = m (a cos - b sin)      b' = m (a sin + b cos)
#include <cmath>

#include "kernels/reference/reference_backend.h"
#include "kernels/reference/values.h"

namespace heed {

using reference::Values;

void ReferenceBackend::rotate(const Rotation& call) {
  Values x(call.x);
  const auto position_rows = host<int32_t>(call.position_rows);
  const int64_t head_width = x.columns() / call.heads;
  const int64_t half = call.dims / 2;
  for (int64_t r = 0; r < x.rows(); ++r) {
    for (int64_t c = 0; c < half; ++c) {
      const double magnitude = call.pairs().magnitude();
      const double turn = call.turn == Turn::forward ? 1.0 : -1.0;
      const double angle = turn * position_rows(0, r) * call.pairs().frequency(c);
      for (int64_t head = 0; head < call.heads; ++head) {
        const int64_t first = head * head_width + c;
        const double a = x(r, first), b = x(r, first + half);
        x(r, first) = magnitude * (a * std::cos(angle) - b * std::sin(angle));
        x(r, first + half) = magnitude * (a * std::sin(angle) + b * std::cos(angle));
      }
    }
  }
  reference::write(x, call.x);
}

}  // namespace heed
