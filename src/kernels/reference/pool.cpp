// The mean or the maximum of each sequence's rows, and its gradient.
#include <cmath>

#include "kernels/reference/reference_backend.h"
#include "kernels/reference/values.h"

namespace heed {
namespace {

// What a sequence's sum is divided by.
double divisor_of(Pooling kind, int64_t length) {
  const auto count = static_cast<double>(length);
  return kind == Pooling::mean_sqrt_length ? std::sqrt(count) : count;
}

}  // namespace

using reference::Values;

void ReferenceBackend::pool(const PoolForward& call) {
  const Segments& segments = *call.segments;
  const Values x(call.x);
  Values y(segments.count(), call.x.columns());
  for (int64_t s = 0; s < segments.count(); ++s) {
    for (int64_t c = 0; c < y.columns(); ++c) {
      int64_t largest = segments.begin(s);
      double sum = 0.0;
      for (int64_t r = segments.begin(s); r < segments.end(s); ++r) {
        sum += x(r, c);
        largest = x(r, c) > x(largest, c) ? r : largest;
      }
      if (segments.length(s) > 0) {
        y(s, c) = call.kind == Pooling::max ? x(largest, c) : sum / divisor_of(call.kind, segments.length(s));
      }
      if (call.kind == Pooling::max) {
        host<int32_t>(call.chosen)(s, c) = static_cast<int32_t>(largest);
      }
    }
  }
  reference::write(y, call.y);
}

void ReferenceBackend::pool_backward(const PoolBackward& call) {
  const Segments& segments = *call.segments;
  const Values d_y(call.d_y);
  Values d_x(call.d_x.rows(), call.d_x.columns());
  for (int64_t s = 0; s < segments.count(); ++s) {
    for (int64_t c = 0; c < d_y.columns(); ++c) {
      for (int64_t r = segments.begin(s); r < segments.end(s); ++r) {
        if (call.kind != Pooling::max) {
          d_x(r, c) = d_y(s, c) / divisor_of(call.kind, segments.length(s));
        } else if (host<int32_t>(call.chosen)(s, c) == r) {
          d_x(r, c) = d_y(s, c);
        }
      }
    }
  }
  reference::write(d_x, call.d_x, call.write);
}

}  // namespace heed
