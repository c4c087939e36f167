// Products with panels of pairs where the processor does not multiply pairs, or where they are f16: widened to f32. Of
// the pair of columns k and k + 1 one half after the other, so that the sums have the order of f32.
#include "kernels/cpu/product/pair_kernels.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/product/pair_kernels.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/product/product_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

enum class Half : uint8_t { low, high };

template <HalfType type, Half half>
HWY_INLINE Vec widened(const float* from) {
  const Floats d;
  const WordVec pairs = hn::BitCast(Words(), hn::Load(d, from));
  if constexpr (type == HalfType::bf16) {
    return hn::BitCast(d, half == Half::low ? hn::ShiftLeft<16>(pairs) : hn::And(pairs, hn::Set(Words(), 0xffff0000U)));
  } else {
    const hn::Rebind<hwy::float16_t, Floats> halves;
    const WordVec word = half == Half::low ? pairs : hn::ShiftRight<16>(pairs);
    return hn::PromoteTo(d, hn::BitCast(halves, hn::TruncateTo(HalfWords(), word)));
  }
}

// Stripes of panels, each kVectors vectors of columns.
template <int kStripes>
class PairStripes {
 public:
  PairStripes(const RightBlock& b, int64_t first_column) {
    for (int s = 0; s < kStripes; ++s) {
      const int64_t column = first_column + s * panel_width();
      stripes_[s] = b.data + column / kHalfPanelRows * b.distance + column % kHalfPanelRows;
    }
  }

  template <HalfType type, Half half>
  HWY_INLINE void widen(Vec (&columns)[kStripes * kVectors]) const {
#pragma GCC unroll 4
    for (int s = 0; s < kStripes; ++s) {
      columns[s * kVectors] = widened<type, half>(stripes_[s]);
      columns[s * kVectors + 1] = widened<type, half>(stripes_[s] + lanes());
    }
  }

  HWY_INLINE void next() {
    constexpr int64_t kLine = 16;  // of cache, in words
#pragma GCC unroll 4
    for (int s = 0; s < kStripes; ++s) {
      for (int64_t word = 0; word < panel_width(); word += kLine) {
        hwy::Prefetch(stripes_[s] + word + kWordsAhead);
      }
      stripes_[s] += kHalfPanelRows;
    }
  }

 private:
  const float* stripes_[kStripes];
};

template <int Rows, int kStripes, HalfType type>
void pair_product(int64_t steps, const LeftBlock& a, PairStripes<kStripes> stripes, float* HWY_RESTRICT tile,
                  int64_t stride, Write write) {
  constexpr int kCount = kStripes * kVectors;
  const LeftBlock rows = a;
  Vec sums[Rows][kCount], columns[kCount];
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kCount; ++v) {
      sums[r][v] = write == Write::add ? load(tile + r * stride + v * lanes()) : hn::Zero(Floats());
    }
  }
  const float* left[3] = {rows.data, rows.data + 4 * rows.row_stride, rows.data + 8 * rows.row_stride};
  const auto add_step = [&]() HWY_ATTR {
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      const Vec x = hn::Set(Floats(), left[r / 4][r % 4 * rows.row_stride]);
#pragma GCC unroll 8
      for (int v = 0; v < kCount; ++v) {
        sums[r][v] = hn::MulAdd(x, columns[v], sums[r][v]);
      }
    }
    left[0] += rows.step_stride;
    left[1] += rows.step_stride;
    left[2] += rows.step_stride;
  };
  for (int64_t step = 1; step < steps; step += 2) {
    stripes.template widen<type, Half::low>(columns);
    add_step();
    stripes.template widen<type, Half::high>(columns);
    add_step();
    stripes.next();
  }
  if (steps % 2 == 1) {
    stripes.template widen<type, Half::low>(columns);
    add_step();
  }
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kCount; ++v) {
      store(sums[r][v], tile + r * stride + v * lanes());
    }
  }
}

// Rows of A times all panels, as many stripes at once as the registers hold sums of.
template <int Rows, HalfType type>
void multiply_pair_rows(int64_t steps, const LeftBlock& a, const RightBlock& b, float* tile, int64_t stride,
                        Write write) {
  constexpr int kStripes = Rows <= kFewRows ? 4 / Rows : 1;
  const int64_t columns = b.panels * kHalfPanelRows;
  int64_t column = 0;
  const auto product = [&]<int kCount>(std::integral_constant<int, kCount>) {
    for (; column + kCount * panel_width() <= columns; column += kCount * panel_width()) {
      pair_product<Rows, kCount, type>(steps, a, PairStripes<kCount>(b, column), tile + column, stride, write);
    }
  };
  product(std::integral_constant<int, kStripes>());
  product(std::integral_constant<int, 1>());
}

using Product = void (*)(int64_t, const LeftBlock&, const RightBlock&, float*, int64_t, Write);

template <HalfType t>
constexpr Product kProducts[] = {
    multiply_pair_rows<1, t>,  multiply_pair_rows<2, t>,  multiply_pair_rows<3, t>,
    multiply_pair_rows<4, t>,  multiply_pair_rows<5, t>,  multiply_pair_rows<6, t>,
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
    multiply_pair_rows<7, t>,  multiply_pair_rows<8, t>,  multiply_pair_rows<9, t>,
    multiply_pair_rows<10, t>, multiply_pair_rows<11, t>, multiply_pair_rows<12, t>,
#endif
};

template <HalfType type>
void multiply_pairs(int64_t rows, int64_t steps, const LeftBlock& a, const RightBlock& b, float* tile, int64_t stride,
                    Write write) {
  kProducts<type>[rows - 1](steps, a, b, tile, stride, write);
}

// Panels of f32, each `steps * panel_width()` words after the previous one.
template <HalfType type>
void widen_pairs(int64_t steps, const RightBlock& from, float* to) {
  Vec columns[kVectors];
  const auto store_step = [&]() HWY_ATTR {
    store(columns[0], to);
    store(columns[1], to + lanes());
    to += panel_width();
  };
  for (int64_t column = 0; column < from.panels * kHalfPanelRows; column += panel_width()) {
    PairStripes<1> stripe(from, column);
    for (int64_t step = 0; step < steps; step += 2) {
      stripe.template widen<type, Half::low>(columns);
      store_step();
      if (step + 1 < steps) {
        stripe.template widen<type, Half::high>(columns);
        store_step();
      }
      stripe.next();
    }
  }
}

}  // namespace

const PairKernels* make_pair_kernels(HalfType type) {
  static const PairKernels bf16_kernels{multiply_pairs<HalfType::bf16>, widen_pairs<HalfType::bf16>};
  static const PairKernels f16_kernels{multiply_pairs<HalfType::f16>, widen_pairs<HalfType::f16>};
  return type == HalfType::f16 ? &f16_kernels : &bf16_kernels;
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(make_pair_kernels);

const PairKernels& pair_kernels(HalfType type) { return *HWY_DYNAMIC_DISPATCH(make_pair_kernels)(type); }

}  // namespace heed::cpu
#endif
