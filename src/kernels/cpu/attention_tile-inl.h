// The matrix products of attention, on panels: blocks of rows of 64 floats, however many columns are in use. An operand
// wider than 64 columns is several panels, one after the other, so that all strides are known to the compiler.

#if defined(HEED_KERNELS_CPU_ATTENTION_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_TILE_INL_H_
#undef HEED_KERNELS_CPU_ATTENTION_TILE_INL_H_
#else
#define HEED_KERNELS_CPU_ATTENTION_TILE_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/attention_plan.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

constexpr int64_t kLanes = HWY_LANES(float);

// Accumulators, one row of the right operand and a broadcast of the left one fit in the registers.
#if HWY_TARGET == HWY_AVX3
constexpr int kMaxVectors = 4;
constexpr int max_rows(int vectors) { return vectors == 1 ? 16 : vectors == 2 ? 12 : vectors == 3 ? 8 : 6; }
#else
constexpr int kMaxVectors = 2;
constexpr int max_rows(int vectors) { return vectors == 1 ? 12 : 6; }
#endif

// The left operand: element (row, step) is data[row * row_stride + step * step_stride].
template <int64_t kRowStride, int64_t kStepStride>
struct Left {
  const float* data;

  HWY_INLINE const float* at(int64_t row, int64_t step) const {
    return data + row * kRowStride + step * kStepStride;
  }
};
using LeftRows = Left<kPanel, 1>;     // as it lies
using LeftColumns = Left<1, kPanel>;  // transposed

// Steps of the sum that a tile needs; all others would add zeros.
struct Steps {
  int64_t begin, end;
};

// One register tile: for each row r and vector v, finish(r, v, init(r, v) + sum over steps of left(r, step) * right(step, v)).
// `first_row` is added to the row that `init` and `finish` are told.
template <int kRows, int kVectors, class LeftOperand, class Init, class Finish>
HWY_NOINLINE void tile(int64_t first_row, LeftOperand left, const float* HWY_RESTRICT right, Steps steps,
                       const Init& init, const Finish& finish) {
  const Floats d;
  Vec sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = init(first_row + r, v);
    }
  }
  const float* a = left.at(first_row, steps.begin);
  right += steps.begin * kPanel;
  for (int64_t step = steps.begin; step < steps.end; ++step) {
    Vec b[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      b[v] = hn::Load(d, right + v * kLanes);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Vec x = hn::Set(d, *LeftOperand{a}.at(r, 0));
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] = hn::MulAdd(x, b[v], sums[r][v]);
      }
    }
    a = LeftOperand{a}.at(0, 1);
    right += kPanel;
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      finish(first_row + r, v, sums[r][v]);
    }
  }
}

// Takes as many tiles of kRows rows as fit, then goes on with the next smaller size.
template <int kRows, int kVectors, class LeftOperand, class StepsOf, class Init, class Finish>
HWY_INLINE void row_tiles(int64_t first_row, int64_t rows, LeftOperand left, const float* right, const StepsOf& steps_of,
                          const Init& init, const Finish& finish) {
  if constexpr (kRows <= max_rows(kVectors)) {
    for (; rows - first_row >= kRows; first_row += kRows) {
      tile<kRows, kVectors>(first_row, left, right, steps_of(first_row, kRows), init, finish);
    }
  }
  if constexpr (kRows > 1) {
    constexpr int kNext = kRows == 16 ? 12 : kRows == 12 ? 8 : kRows == 8 ? 6 : kRows == 6 ? 4 : kRows - 1;
    if (first_row < rows) {
      row_tiles<kNext, kVectors>(first_row, rows, left, right, steps_of, init, finish);
    }
  }
}

// Rows [0, rows) and vectors [first_vector, first_vector + vectors) of a product, where steps_of(row, count) says which
// steps the rows [row, row + count) need.
template <class LeftOperand, class StepsOf, class Init, class Finish>
HWY_INLINE void product(int64_t rows, int64_t first_vector, int64_t vectors, LeftOperand left, const float* right,
                        const StepsOf& steps_of, const Init& init, const Finish& finish) {
  for (int64_t v = first_vector, rest = vectors; rest > 0; v += kMaxVectors, rest -= kMaxVectors) {
    const auto init_here = [&init, v](int64_t r, int64_t w) { return init(r, v + w); };
    const auto finish_here = [&finish, v](int64_t r, int64_t w, Vec sum) { finish(r, v + w, sum); };
    const float* const b = right + v * kLanes;
    if constexpr (kMaxVectors >= 4) {
      if (rest >= 4) {
        row_tiles<16, 4>(0, rows, left, b, steps_of, init_here, finish_here);
        continue;
      }
      if (rest == 3) {
        row_tiles<16, 3>(0, rows, left, b, steps_of, init_here, finish_here);
        continue;
      }
    }
    if (rest >= 2) {
      row_tiles<16, 2>(0, rows, left, b, steps_of, init_here, finish_here);
    } else {
      row_tiles<16, 1>(0, rows, left, b, steps_of, init_here, finish_here);
    }
  }
}

HWY_INLINE float* panel_at(float* panel, int64_t row, int64_t vector) { return panel + row * kPanel + vector * kLanes; }
HWY_INLINE const float* panel_at(const float* panel, int64_t row, int64_t vector) {
  return panel + row * kPanel + vector * kLanes;
}

// Vectors that hold `columns` columns.
HWY_INLINE int64_t vectors_for(int64_t columns) { return (columns + kLanes - 1) / kLanes; }

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_ATTENTION_TILE_INL_H_
