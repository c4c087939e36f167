// Each pair of columns (a, b) of a head turns by an angle that grows with the row's position:
//   a' = a cos - b sin      b' = a sin + b cos
#include "kernels/cpu/rotation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rotation.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/simd-inl.h"

#ifndef HEED_KERNELS_CPU_ROTATION_CPP_
#define HEED_KERNELS_CPU_ROTATION_CPP_
namespace heed::cpu {

// Cosines and sines of positions [first, first + count): row `position - first`, one column a pair.
struct Turns {
  const float *cosines, *sines;
  int64_t first;
};

}  // namespace heed::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

template <class T>
HWY_INLINE void turn_pairs(T* a, T* b, const float* cosines, const float* sines, int64_t pairs) {
  const auto turn = [](Vec x, Vec y, Vec cosine, Vec sine, auto&& write) {
    write(hn::NegMulAdd(y, sine, hn::Mul(x, cosine)), hn::MulAdd(x, sine, hn::Mul(y, cosine)));
  };
  for_columns(
      pairs,
      [&](int64_t c) {
        turn(load(a + c), load(b + c), load(cosines + c), load(sines + c), [&](Vec x, Vec y) {
          store(x, a + c);
          store(y, b + c);
        });
      },
      [&](int64_t c, int64_t count) {
        turn(load_part(a + c, count), load_part(b + c, count), load_part(cosines + c, count),
             load_part(sines + c, count), [&](Vec x, Vec y) {
               store_part(x, a + c, count);
               store_part(y, b + c, count);
             });
      });
}

template <class T>
void rotate_rows(const Rotation& call, const Turns& turns, int64_t begin, int64_t end) {
  const HostView<T> x = host<T>(call.x);
  const HostView<int32_t> positions = host<int32_t>(call.position_rows);
  const int64_t width = x.columns / call.heads, pairs = call.dims / 2;
  for (int64_t r = begin; r < end; ++r) {
    const int64_t turn = (positions(0, r) - turns.first) * pairs;
    for (int64_t head = 0; head < call.heads; ++head) {
      T* const a = x.row(r) + head * width;
      turn_pairs(a, a + pairs, turns.cosines + turn, turns.sines + turn, pairs);
    }
  }
}

}  // namespace

void rotate_rows_f32(const Rotation& call, const Turns& turns, int64_t begin, int64_t end) {
  rotate_rows<float>(call, turns, begin, end);
}
void rotate_rows_bf16(const Rotation& call, const Turns& turns, int64_t begin, int64_t end) {
  rotate_rows<bf16>(call, turns, begin, end);
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {
namespace {

HWY_EXPORT(rotate_rows_f32);
HWY_EXPORT(rotate_rows_bf16);

}  // namespace

void rotate(Context& context, const Rotation& call) {
  if (call.x.rows() == 0 || call.dims < 2) {
    return;
  }
  const HostView<int32_t> positions = host<int32_t>(call.position_rows);
  const auto [lowest, highest] = std::minmax_element(positions.data, positions.data + call.x.rows());
  const int64_t first = *lowest, count = *highest - first + 1, pairs = call.dims / 2;
  float* const cosines = context.shared_scratch.reserve<float>(2 * count * pairs);
  float* const sines = cosines + count * pairs;
  const RowTasks table(count, 64 * pairs, context.pool.threads());
  const double direction = call.turn == Turn::forward ? 1.0 : -1.0;
  context.pool.run(table.count(), [&](int64_t task, int) {
    for (int64_t c = 0; c < pairs; ++c) {
      const double frequency = std::pow(call.base, -2.0 * static_cast<double>(c) / static_cast<double>(call.dims));
      for (int64_t i = table.begin(task); i < table.end(task); ++i) {
        const double angle = static_cast<double>(first + i) * frequency;
        cosines[i * pairs + c] = static_cast<float>(std::cos(angle));
        sines[i * pairs + c] = static_cast<float>(direction * std::sin(angle));
      }
    }
  });
  const Turns turns{cosines, sines, first};
  const RowTasks rows(call.x.rows(), call.heads * call.dims, context.pool.threads());
  context.pool.run(rows.count(), [&](int64_t task, int) {
    if (call.x.type() == DType::bf16) {
      HWY_DYNAMIC_DISPATCH(rotate_rows_bf16)(call, turns, rows.begin(task), rows.end(task));
    } else {
      HWY_DYNAMIC_DISPATCH(rotate_rows_f32)(call, turns, rows.begin(task), rows.end(task));
    }
  });
}

}  // namespace heed::cpu
#endif
