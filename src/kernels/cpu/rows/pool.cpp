#include "kernels/cpu/rows/pool.h"

#include <cmath>
#include <vector>

namespace heed::cpu {
namespace {

float number(float value) { return value; }
float number(bf16 value) { return static_cast<float>(value); }

// What a sequence's sum is divided by.
float divisor_of(Pooling kind, int64_t length) {
  const auto count = static_cast<float>(length);
  return kind == Pooling::mean_sqrt_length ? std::sqrt(count) : count;
}

// The mean or the maximum of rows [begin, end), in f32, rounded once.
template <class T>
void pool_sequence(const PoolForward& call, int64_t s) {
  const int64_t begin = call.segments->begin(s), end = call.segments->end(s);
  const auto x = host<T>(call.x);
  T* const y = host<T>(call.y).row(s);
  std::vector<float> pooled(static_cast<size_t>(call.x.columns()), 0.0F);
  int32_t* const chosen = call.kind == Pooling::max ? host<int32_t>(call.chosen).row(s) : nullptr;
  for (int64_t r = begin; r < end; ++r) {
    const T* const row = x.row(r);
    for (size_t c = 0; c < pooled.size(); ++c) {
      const float value = number(row[c]);
      if (call.kind != Pooling::max) {
        pooled[c] += value;
      } else if (r == begin || value > pooled[c]) {
        pooled[c] = value;
        chosen[c] = static_cast<int32_t>(r);
      }
    }
  }
  const float divisor = call.kind != Pooling::max && end > begin ? divisor_of(call.kind, end - begin) : 1.0F;
  for (size_t c = 0; c < pooled.size(); ++c) {
    y[c] = T(pooled[c] / divisor);
  }
}

template <class T>
void spread_sequence(const PoolBackward& call, int64_t s) {
  const int64_t begin = call.segments->begin(s), end = call.segments->end(s);
  const T* const d_y = host<T>(call.d_y).row(s);
  const int32_t* const chosen = call.kind == Pooling::max ? host<int32_t>(call.chosen).row(s) : nullptr;
  for (int64_t r = begin; r < end; ++r) {
    T* const d_x = host<T>(call.d_x).row(r);
    for (int64_t c = 0; c < call.d_x.columns(); ++c) {
      const float share = call.kind != Pooling::max ? number(d_y[c]) / divisor_of(call.kind, end - begin)
                          : chosen[c] == r          ? number(d_y[c])
                                                    : 0.0F;
      d_x[c] = T(call.write == Write::add ? number(d_x[c]) + share : share);
    }
  }
}

}  // namespace

void pool(Context& context, const PoolForward& call) {
  context.pool.run(call.segments->count(), [&](int64_t s, int) {
    call.x.type() == DType::bf16 ? pool_sequence<bf16>(call, s) : pool_sequence<float>(call, s);
  });
}

void pool_backward(Context& context, const PoolBackward& call) {
  context.pool.run(call.segments->count(), [&](int64_t s, int) {
    call.d_x.type() == DType::bf16 ? spread_sequence<bf16>(call, s) : spread_sequence<float>(call, s);
  });
}

}  // namespace heed::cpu
