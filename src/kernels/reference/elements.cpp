// Element by element: fill, copy, add, scale, blend, sums of parts, dropout, a soft cap.
#include <cmath>

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

void ReferenceBackend::copy(ConstView from, View to) { reference::write(Values(from), to); }

void ReferenceBackend::add(ConstView x, View into) { reference::write(Values(x), into, Write::add); }

void ReferenceBackend::scale(View x, double factor) {
  for (int64_t r = 0; r < x.rows(); ++r) {
    for (int64_t c = 0; c < x.columns(); ++c) {
      reference::set(x, r, c, factor * reference::get(x, r, c));
    }
  }
}

void ReferenceBackend::blend(ConstView from, View into, double share) {
  const Values source(from);
  Values result(into);
  for (int64_t r = 0; r < result.rows(); ++r) {
    for (int64_t c = 0; c < result.columns(); ++c) {
      result(r, c) += share * (source(r, c) - result(r, c));
    }
  }
  reference::write(result, into);
}

void ReferenceBackend::sum_parts(const SumParts& call) {
  const Values bias(call.bias);
  Values sum(call.y.rows(), call.y.columns());
  for (const ConstView& view : call.parts) {
    const Values part(view);
    for (int64_t r = 0; r < sum.rows(); ++r) {
      for (int64_t c = 0; c < sum.columns(); ++c) {
        sum(r, c) += part(r, c);
      }
    }
  }
  for (int64_t r = 0; !bias.empty() && r < sum.rows(); ++r) {
    for (int64_t c = 0; c < sum.columns(); ++c) {
      sum(r, c) += bias(0, c);
    }
  }
  reference::write(sum, call.y);
}

void ReferenceBackend::drop(const Drop& call) {
  Values x(call.x);
  reference::drop(x, call.dropout);
  reference::write(x, call.x);
}

void ReferenceBackend::soft_cap(const SoftCap& call) {
  Values x(call.x);
  for (int64_t r = 0; r < x.rows(); ++r) {
    for (int64_t c = 0; c < x.columns(); ++c) {
      x(r, c) = call.cap * std::tanh(x(r, c) / call.cap);
    }
  }
  reference::write(x, call.x);
}

void ReferenceBackend::soft_cap_backward(const SoftCapBackward& call) {
  const Values y(call.y);
  Values d(call.d_y);
  for (int64_t r = 0; r < d.rows(); ++r) {
    for (int64_t c = 0; c < d.columns(); ++c) {
      d(r, c) *= 1.0 - (y(r, c) / call.cap) * (y(r, c) / call.cap);
    }
  }
  reference::write(d, call.d_y);
}

}  // namespace heed
