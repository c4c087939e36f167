// Element by element: fill, copy, add, scale.
#include "kernels/reference/reference_backend.h"
#include "kernels/reference/values.h"

namespace heed {

using reference::Values;

void ReferenceBackend::fill(View x, double value) {
  for (int64_t r = 0; r < x.rows(); ++r) {
    for (int64_t c = 0; c < x.columns(); ++c) {
      reference::set(x, r, c, value);
    }
  }
}

void ReferenceBackend::copy(View from, View to) { reference::write(Values(from), to); }

void ReferenceBackend::add(View x, View into) { reference::write(Values(x), into, Write::add); }

void ReferenceBackend::scale(View x, double factor) {
  for (int64_t r = 0; r < x.rows(); ++r) {
    for (int64_t c = 0; c < x.columns(); ++c) {
      reference::set(x, r, c, factor * reference::get(x, r, c));
    }
  }
}

}  // namespace heed
