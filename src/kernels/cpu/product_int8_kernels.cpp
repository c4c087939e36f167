#include "kernels/cpu/product_int8_kernels.h"

#include <algorithm>

#include "kernels/cpu/instruction_sets.h"
#include "kernels/cpu/product_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/product_int8_kernels.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

using Shorts = hn::Repartition<int16_t, Floats>;
using IntVec = hn::Vec<Ints>;
using ShortVec = hn::Vec<Shorts>;

#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 12;
#else
constexpr int kRows = 6;
#endif

// ---- quantizing rows ----

template <class T>
HWY_INLINE float largest_magnitude(const T* row, int64_t count) {
  Vec largest = hn::Zero(Floats());
  each_vector(count,
              [&](int64_t k, int64_t left) HWY_ATTR { largest = hn::Max(largest, hn::Abs(load_upto(row + k, left))); });
  return hn::GetLane(hn::MaxOfLanes(Floats(), largest));
}

// Calls take(k, integers from there on) at every vector's first k; integers past the row's end are 0.
template <class T, class Take>
HWY_INLINE void each_quantized(const T* row, int64_t count, float inverse, Take take) {
  const Vec factor = hn::Set(Floats(), inverse);
  each_vector(count, [&](int64_t k, int64_t left)
                         HWY_ATTR { take(k, hn::NearestInt(hn::Mul(load_upto(row + k, left), factor))); });
}

// As bytes that are 128 too large, four to a word.
template <class T>
void write_bytes(const T* row, int64_t count, float inverse, uint32_t* to) {
  const hn::Rebind<int8_t, Ints> d;
  auto* const bytes = reinterpret_cast<int8_t*>(to);
  each_quantized(row, count, inverse, [&](int64_t k, IntVec values) HWY_ATTR {
    const auto shifted = hn::Xor(hn::DemoteTo(d, values), hn::Set(d, int8_t{-128}));
    const int64_t stored = std::min(lanes(), 4 * int8_steps(count) - k);
    stored == lanes() ? hn::StoreU(shifted, d, bytes + k) : store_first(d, shifted, bytes + k, stored);
  });
}

// As two words for four values: values 0 and 2, then 1 and 3, as the panel's bytes are paired below.
template <class T>
void write_pairs(const T* row, int64_t count, float inverse, uint32_t* to) {
  alignas(64) uint32_t words[hn::MaxLanes(Words())];
  each_quantized(row, count, inverse, [&](int64_t k, IntVec values) HWY_ATTR {
    const WordVec low = hn::And(hn::BitCast(Words(), values), hn::Set(Words(), 0xffffU));
    const WordVec high = hn::ShiftLeft<16>(hn::BitCast(Words(), values));
    hn::Store(hn::Or(low, hn::Shuffle1032(high)), Words(), words);
    for (int64_t i = 0; i < lanes() && k + i < count; i += 4) {
      std::copy_n(words + i, 2, to + (k + i) / 2);
    }
  });
}

struct Quantization {
  float scale, inverse;
};

template <class T>
Quantization quantization_of(const T* row, int64_t count) {
  const float largest = largest_magnitude(row, count);
  return {largest / 127.0F, largest > 0.0F ? 127.0F / largest : 0.0F};
}

template <class T>
float quantize_row_to_bytes(const T* row, int64_t count, uint32_t* to) {
  const Quantization q = quantization_of(row, count);
  write_bytes(row, count, q.inverse, to);
  return q.scale;
}
template <class T>
float quantize_row_to_pairs(const T* row, int64_t count, uint32_t* to) {
  const Quantization q = quantization_of(row, count);
  write_pairs(row, count, q.inverse, to);
  return q.scale;
}

float quantize_to_bytes(const View& a, int64_t row, uint32_t* to) {
  return a.type() == DType::bf16 ? quantize_row_to_bytes(host<bf16>(a).row(row), a.columns(), to)
                                 : quantize_row_to_bytes(host<float>(a).row(row), a.columns(), to);
}
float quantize_to_pairs(const View& a, int64_t row, uint32_t* to) {
  return a.type() == DType::bf16 ? quantize_row_to_pairs(host<bf16>(a).row(row), a.columns(), to)
                                 : quantize_row_to_pairs(host<float>(a).row(row), a.columns(), to);
}

// ---- products, where there is no instruction for four 8-bit products ----

// In each 32-bit lane the sum of two products of 16-bit integers, added to `sum`.
HWY_INLINE IntVec add_pairs(ShortVec a, ShortVec b, IntVec sum) {
#if HWY_ARCH_X86
  IntVec unused = sum;
  return hn::ReorderWidenMulAccumulate(Ints(), a, b, sum, unused);
#else
  const auto low = [](ShortVec x) { return hn::ShiftRight<16>(hn::ShiftLeft<16>(hn::BitCast(Ints(), x))); };
  const auto high = [](ShortVec x) { return hn::ShiftRight<16>(hn::BitCast(Ints(), x)); };
  return hn::Add(sum, hn::Add(hn::Mul(low(a), low(b)), hn::Mul(high(a), high(b))));
#endif
}

// A word's four bytes are widened to two pairs of 16 bits: bytes 0 and 2, and bytes 1 and 3.
HWY_INLINE ShortVec even_bytes(ShortVec words) { return hn::ShiftRight<8>(hn::ShiftLeft<8>(words)); }
HWY_INLINE ShortVec odd_bytes(ShortVec words) { return hn::ShiftRight<8>(words); }

template <int Rows>
void tile_product(int64_t steps, const Int8Rows& a, const uint32_t* HWY_RESTRICT panel, int32_t* HWY_RESTRICT tile,
                  int64_t stride) {
  const Shorts d;
  const Words words;
  const int64_t n = lanes();
  IntVec sums0[Rows], sums1[Rows];
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    sums0[r] = sums1[r] = hn::Zero(Ints());
  }
  const auto add = [&](const uint32_t* left, ShortVec b0, ShortVec b1) HWY_ATTR {
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      const ShortVec x = hn::BitCast(d, hn::Set(words, left[r * a.stride]));
      sums0[r] = add_pairs(x, b0, sums0[r]);
      sums1[r] = add_pairs(x, b1, sums1[r]);
    }
  };
  for (int64_t step = 0; step < steps; ++step, panel += 2 * n) {
    const ShortVec b0 = hn::BitCast(d, hn::Load(words, panel)), b1 = hn::BitCast(d, hn::Load(words, panel + n));
    add(a.words + 2 * step, even_bytes(b0), even_bytes(b1));
    add(a.words + 2 * step + 1, odd_bytes(b0), odd_bytes(b1));
  }
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    hn::StoreU(sums0[r], Ints(), tile + r * stride);
    hn::StoreU(sums1[r], Ints(), tile + r * stride + n);
  }
}

using Product = void (*)(int64_t, const Int8Rows&, const uint32_t*, int32_t*, int64_t);

constexpr Product kProducts[] = {
    tile_product<1>, tile_product<2>, tile_product<3>, tile_product<4>,  tile_product<5>,  tile_product<6>,
#if HWY_TARGET == HWY_AVX3
    tile_product<7>, tile_product<8>, tile_product<9>, tile_product<10>, tile_product<11>, tile_product<12>,
#endif
};
static_assert(std::size(kProducts) == kRows);

void multiply(int64_t rows, int64_t steps, const Int8Rows& a, const uint32_t* panel, int32_t* tile, int64_t stride) {
  kProducts[rows - 1](steps, a, panel, tile, stride);
}

// ---- sums to f32 ----

// With an offset, sums are too large by that times the column's sum.
HWY_INLINE void finish_tile(int64_t rows, int64_t columns, const Int8Rows& a, const Int8Panels& b, int64_t stride,
                            int32_t offset, int32_t* sums) {
  const IntVec shift = hn::Set(Ints(), offset);
  for (int64_t r = 0; r < rows; ++r) {
    int32_t* const row = sums + r * stride;
    const Vec row_scale = hn::Set(Floats(), a.scales[r]);
    for (int64_t c = 0; c < columns; c += lanes()) {  // a panel's scales and sums are whole vectors
      const IntVec too_much = hn::Mul(hn::LoadU(Ints(), b.sums + c), shift);
      const Vec sum = hn::ConvertTo(Floats(), hn::Sub(hn::LoadU(Ints(), row + c), too_much));
      const Vec value = hn::Mul(sum, hn::Mul(row_scale, load(b.scales + c)));
      hn::StoreU(hn::BitCast(Ints(), value), Ints(), row + c);
    }
  }
}

void finish_bytes(int64_t rows, int64_t columns, const Int8Rows& a, const Int8Panels& b, int64_t stride,
                  int32_t* sums) {
  finish_tile(rows, columns, a, b, stride, 128, sums);
}
void finish_pairs(int64_t rows, int64_t columns, const Int8Rows& a, const Int8Panels& b, int64_t stride,
                  int32_t* sums) {
  finish_tile(rows, columns, a, b, stride, 0, sums);
}

}  // namespace

const Int8Kernels* make_pair_kernels() {
  static const Int8Kernels kernels{2, multiply, quantize_to_pairs, finish_pairs};
  return &kernels;
}

const Int8Kernels* make_byte_kernels() {
  static const Int8Kernels kernels{1, multiply_int8_avx512vnni, quantize_to_bytes, finish_bytes};
  return &kernels;
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(make_pair_kernels);
HWY_EXPORT(make_byte_kernels);

namespace {

bool has_vnni() {
#if defined(__x86_64__)
  limit_instruction_sets();
  return __builtin_cpu_supports("avx512vnni") && product_kernels().panel_columns == 32;
#else
  return false;
#endif
}

}  // namespace

const Int8Kernels& int8_kernels() {
  return has_vnni() ? *HWY_DYNAMIC_DISPATCH(make_byte_kernels)() : *HWY_DYNAMIC_DISPATCH(make_pair_kernels)();
}

}  // namespace heed::cpu
#endif
