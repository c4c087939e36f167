// The matrix products of attention, on panels: blocks of rows of 64 floats, however many of the columns are used. An
// operand wider than 64 columns is several panels, one after the other, so that the compiler knows all strides.

#if defined(HEED_KERNELS_CPU_ATTENTION_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_TILE_INL_H_
#undef HEED_KERNELS_CPU_ATTENTION_TILE_INL_H_
#else
#define HEED_KERNELS_CPU_ATTENTION_TILE_INL_H_
#endif

#include <cstdint>

#include "base/rounding.h"
#include "kernels/cpu/attention/attention_plan.h"
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

constexpr int64_t kLanes = HWY_LANES(float);
static_assert(kRowGroup % kLanes == 0 && kKeyBlock % kLanes == 0 && kPanel % (2 * kLanes) == 0);

// Accumulators, one row of the right operand and a broadcast of the left one fit in the registers.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON  // 32 registers
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

  HWY_INLINE const float* at(int64_t row, int64_t step) const { return data + row * kRowStride + step * kStepStride; }
};
using LeftRows = Left<kPanel, 1>;     // as stored
using LeftColumns = Left<1, kPanel>;  // transposed

// The steps of the sum that a tile needs; all others would add zeros.
struct Steps {
  int64_t begin, end;
};

// How a product is written to its panel: over it, or added to its former contents, which `decay` (one factor per row,
// or null) multiplies first.
struct Sums {
  enum class Start : uint8_t { zero, former };

  float* panel;
  Start start = Start::zero;
  const float* decay = nullptr;
};

HWY_INLINE float* panel_at(float* panel, int64_t row, int64_t vector) { return panel + row * kPanel + vector * kLanes; }
HWY_INLINE const float* panel_at(const float* panel, int64_t row, int64_t vector) {
  return panel + row * kPanel + vector * kLanes;
}

// What a register tile's sums begin with.
template <int kRows, int kVectors>
HWY_INLINE void begin_sums(const Sums& to, Vec (&sums)[kRows][kVectors]) {
  const Floats d;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = to.start == Sums::Start::zero ? hn::Zero(d) : hn::Load(d, panel_at(to.panel, r, v));
    }
  }
  if (to.decay != nullptr) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Vec factor = hn::Set(d, to.decay[r]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] = hn::Mul(sums[r][v], factor);
      }
    }
  }
}

template <int kRows, int kVectors>
HWY_INLINE void store_sums(const Vec (&sums)[kRows][kVectors], const Sums& to) {
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(sums[r][v], Floats(), panel_at(to.panel, r, v));
    }
  }
}

// One step of a register tile's sums: sums(r, v) += left(r, 0) * right(0, v).
template <int kRows, int kVectors, class LeftOperand>
HWY_INLINE void add_step(LeftOperand left, const float* right, Vec (&sums)[kRows][kVectors]) {
  const Floats d;
  Vec b[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    b[v] = hn::Load(d, right + v * kLanes);
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const Vec x = hn::Set(d, *left.at(r, 0));
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = hn::MulAdd(x, b[v], sums[r][v]);
    }
  }
}

// One register tile: to(r, v) = start + sum over steps of left(r, step) * right(step, v), step after step.
template <int kRows, int kVectors, class LeftOperand>
HWY_NOINLINE void tile(LeftOperand left, const float* HWY_RESTRICT right, Steps steps, Sums to) {
  Vec sums[kRows][kVectors];
  begin_sums(to, sums);
  const float* a = left.at(0, steps.begin);
  right += steps.begin * kPanel;
  for (int64_t step = steps.begin; step < steps.end; ++step) {
    add_step(LeftOperand{a}, right, sums);
    a = LeftOperand{a}.at(0, 1);
    right += kPanel;
  }
  store_sums(sums, to);
}

// As many tiles of kRows rows as fit, then tiles of the next smaller size.
template <int kRows, int kVectors, class Body>
HWY_INLINE void row_tiles(int64_t row, int64_t rows, int64_t vector, const Body& body) {
  if constexpr (kRows <= max_rows(kVectors)) {
    for (; rows - row >= kRows; row += kRows) {
      body.template operator()<kRows, kVectors>(row, vector);
    }
  }
  if constexpr (kRows > 1) {
    constexpr int kNext = kRows == 16 ? 12 : kRows == 12 ? 8 : kRows == 8 ? 6 : kRows == 6 ? 4 : kRows - 1;
    if (row < rows) {
      row_tiles<kNext, kVectors>(row, rows, vector, body);
    }
  }
}

// Calls body<rows, vectors>(first row, first vector) for the register tiles of rows [0, rows) and vectors [vector,
// end).
template <class Body>
HWY_INLINE void register_tiles(int64_t rows, int64_t vector, int64_t end, const Body& body) {
  for (; vector < end; vector += kMaxVectors) {
    if constexpr (kMaxVectors >= 4) {
      if (end - vector >= 4) {
        row_tiles<16, 4>(0, rows, vector, body);
        continue;
      }
      if (end - vector == 3) {
        row_tiles<16, 3>(0, rows, vector, body);
        continue;
      }
    }
    if (end - vector >= 2) {
      row_tiles<16, 2>(0, rows, vector, body);
    } else {
      row_tiles<16, 1>(0, rows, vector, body);
    }
  }
}

// Rows [0, rows) and vectors [0, vectors) of a product, where steps_of(row, count) says which steps the rows
// [row, row + count) need.
template <class LeftOperand, class StepsOf>
HWY_INLINE void product(int64_t rows, int64_t vectors, LeftOperand left, const float* right, const StepsOf& steps_of,
                        Sums to) {
  register_tiles(rows, 0, vectors, [&]<int kRows, int kVectors>(int64_t row, int64_t vector) {
    const float* const decay = to.decay == nullptr ? nullptr : to.decay + row;
    tile<kRows, kVectors>(LeftOperand{left.at(row, 0)}, right + vector * kLanes, steps_of(row, kRows),
                          Sums{to.panel + row * kPanel + vector * kLanes, to.start, decay});
  });
}

// Vectors that hold `columns` columns.
constexpr int64_t vectors_for(int64_t columns) { return ceil_div(columns, kLanes); }

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_ATTENTION_TILE_INL_H_
