#include "kernels/cpu/product/integer_kernels.h"

#include <algorithm>
#include <iterator>

#include "kernels/cpu/machine/instruction_sets.h"
#include "kernels/cpu/machine/prefetch_level.h"
#include "kernels/cpu/product/product_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/product/integer_kernels.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

using PackedBytes = hn::Repartition<int8_t, Floats>;
using Shorts = hn::Repartition<int16_t, Floats>;
using IntVec = hn::Vec<Ints>;
using ShortVec = hn::Vec<Shorts>;

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
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
  const Vec factor = hn::Set(Floats(), inverse), most = hn::Set(Floats(), 127.0F);
  each_vector(count, [&](int64_t k, int64_t left) HWY_ATTR {
    const Vec scaled = hn::Mul(load_upto(row + k, left), factor);
    take(k, hn::NearestInt(hn::Clamp(scaled, hn::Neg(most), most)));
  });
}

// As bytes, four to a word, after `flip` has changed their bits.
template <class T>
void write_bytes(const T* row, int64_t count, float inverse, int8_t flip, uint32_t* to) {
  const hn::Rebind<int8_t, Ints> d;
  auto* const bytes = reinterpret_cast<int8_t*>(to);
  each_quantized(row, count, inverse, [&](int64_t k, IntVec values) HWY_ATTR {
    const auto flipped = hn::Xor(hn::DemoteTo(d, values), hn::Set(d, flip));
    const int64_t stored = std::min(lanes(), 4 * steps_of_int8(count) - k);
    stored == lanes() ? hn::StoreU(flipped, d, bytes + k) : store_first(d, flipped, bytes + k, stored);
  });
}

// After a row's words: the sum of each group's values times -too_large, which takes back by how much weights are.
template <class T>
void write_group_sums(const T* row, int64_t count, float inverse, uint32_t too_large, uint32_t* to) {
  std::fill_n(to, count / kInt4Group, 0U);
  each_quantized(row, count, inverse, [&](int64_t k, IntVec values) HWY_ATTR {
    to[k / kInt4Group] -= too_large * static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(Ints(), values)));
  });
}
static_assert(kInt8Group == kInt4Group);

struct Quantization {
  float scale, inverse;
};

template <class T>
Quantization quantization_of(const T* row, int64_t count, float input_scale) {
  if (input_scale > 0.0F) {
    return {input_scale, 1.0F / input_scale};
  }
  const float largest = largest_magnitude(row, count);
  return {largest / 127.0F, largest > kLeastMagnitude ? 127.0F / largest : 0.0F};
}

// Calls write(row, number of values, 1 / scale) for row `row` of A; returns the scale.
template <class Write>
float quantize_row(const ConstView& a, int64_t row, float input_scale, Write write) {
  const auto quantize = [&](const auto* values) {
    const Quantization q = quantization_of(values, a.columns(), input_scale);
    write(values, a.columns(), q.inverse);
    return q.scale;
  };
  return a.type() == DType::bf16 ? quantize(host<bf16>(a).row(row)) : quantize(host<float>(a).row(row));
}

#if HWY_ARCH_X86
// 128 too large, which makes them unsigned.
float quantize_to_unsigned_bytes(const ConstView& a, int64_t row, float input_scale, uint32_t* to) {
  return quantize_row(a, row, input_scale,
                      [&](const auto* x, int64_t n, float inverse) { write_bytes(x, n, inverse, int8_t{-128}, to); });
}
#endif
float quantize_to_signed_bytes(const ConstView& a, int64_t row, float input_scale, uint32_t* to) {
  return quantize_row(a, row, input_scale,
                      [&](const auto* x, int64_t n, float inverse) { write_bytes(x, n, inverse, int8_t{0}, to); });
}
template <uint32_t kTooLarge>
float quantize_to_bytes_and_sums(const ConstView& a, int64_t row, float input_scale, uint32_t* to) {
  return quantize_row(a, row, input_scale, [&](const auto* x, int64_t n, float inverse) {
    write_bytes(x, n, inverse, int8_t{0}, to);
    write_group_sums(x, n, inverse, kTooLarge, to + n / 4);
  });
}

// ---- products, where there is no instruction for four 8-bit products ----

// The sum stays in a register: compilers would otherwise add up products first, and keep all sums in memory.
template <class V>
HWY_INLINE V kept_in_register(V sum) {
#if HWY_ARCH_X86
  asm("" : "+x"(sum.raw));
#elif HWY_ARCH_ARM
  asm("" : "+w"(sum.raw));
#endif
  return sum;
}

// In each 32-bit lane the sum of its two 16-bit integers, added to `sum`. `ones` are that.
HWY_INLINE IntVec add_pairs(ShortVec a, [[maybe_unused]] ShortVec ones, IntVec sum) {
#if HWY_ARCH_X86
  IntVec unused = sum;
  return kept_in_register(hn::ReorderWidenMulAccumulate(Ints(), a, ones, sum, unused));
#elif HWY_TARGET == HWY_NEON
  return IntVec(vpadalq_s16(sum.raw, a.raw));
#else
  const IntVec both = hn::BitCast(Ints(), a);
  return hn::Add(sum, hn::Add(hn::ShiftRight<16>(hn::ShiftLeft<16>(both)), hn::ShiftRight<16>(both)));
#endif
}

// In each 16-bit lane the sum of two products of bytes, those of `a` unsigned and those of `b` signed; small enough for
// 16 bits. On NEON both are signed.
HWY_INLINE ShortVec pairs_of_bytes(WordVec a, WordVec b) {
#if HWY_TARGET == HWY_AVX3
  return ShortVec{_mm512_maddubs_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_AVX2
  return ShortVec{_mm256_maddubs_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_SSE4
  return ShortVec{_mm_maddubs_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_NEON
  const int8x16_t x = vreinterpretq_s8_u32(a.raw), y = vreinterpretq_s8_u32(b.raw);
  return ShortVec(vpaddq_s16(vmull_s8(vget_low_s8(x), vget_low_s8(y)), vmull_high_s8(x, y)));
#else
  const ShortVec x = hn::BitCast(Shorts(), a), y = hn::BitCast(Shorts(), b);
  const ShortVec even = hn::Mul(hn::And(x, hn::Set(Shorts(), 0xff)), hn::ShiftRight<8>(hn::ShiftLeft<8>(y)));
  const ShortVec odd = hn::Mul(hn::And(hn::ShiftRight<8>(x), hn::Set(Shorts(), 0xff)), hn::ShiftRight<8>(y));
  return hn::Add(even, odd);
#endif
}

// The bytes of x, negated where those of `signs` are negative; where those are zero, anything. On NEON, which multiplies
// signed bytes, neither this nor magnitudes() changes them.
HWY_INLINE WordVec negated_like(WordVec signs, WordVec x) {
#if HWY_TARGET == HWY_AVX3
  return WordVec{_mm512_mask_sub_epi8(x.raw, _mm512_movepi8_mask(signs.raw), _mm512_setzero_si512(), x.raw)};
#elif HWY_TARGET == HWY_AVX2
  return WordVec{_mm256_sign_epi8(x.raw, signs.raw)};
#elif HWY_TARGET == HWY_SSE4
  return WordVec{_mm_sign_epi8(x.raw, signs.raw)};
#elif HWY_TARGET == HWY_NEON
  static_cast<void>(signs);
  return x;
#else
  const auto negative = hn::BroadcastSignBit(hn::BitCast(PackedBytes(), signs));
  return hn::BitCast(Words(), hn::Sub(hn::Xor(hn::BitCast(PackedBytes(), x), negative), negative));
#endif
}

HWY_INLINE WordVec magnitudes(WordVec bytes) {
#if HWY_TARGET == HWY_NEON
  return bytes;
#else
  return hn::BitCast(Words(), hn::Abs(hn::BitCast(PackedBytes(), bytes)));
#endif
}

// Where the second of two vectors of columns begins: in the same panel, or in the next one.
int64_t words_to_next(int64_t panel_words) { return lanes() < kPanelRows ? lanes() : panel_words; }

// x w = (x negated like w) |w|. Two products are at most 2 * 127 * 128, which 16 bits hold.
template <int Rows, CacheLevel level>
void int8_tile(const IntegerRows& a, const IntegerPanel& panel, float* HWY_RESTRICT tile, int64_t stride) {
  const int64_t n = lanes();
  const ShortVec ones = hn::Set(Shorts(), 1);
  IntVec sums0[Rows], sums1[Rows];
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    sums0[r] = sums1[r] = hn::Zero(Ints());
  }
  const uint32_t *b = panel.words, *next = b + words_to_next(int8_panel_words(panel.depth));
  for (int64_t step = 0; step < steps_of_int8(panel.depth); ++step, b += kPanelRows, next += kPanelRows) {
    const WordVec b0 = hn::Load(Words(), b), b1 = hn::Load(Words(), next);
    const WordVec magnitudes0 = magnitudes(b0), magnitudes1 = magnitudes(b1);
    __builtin_prefetch(b + kPanelRows * kStepsAhead, 0, level == CacheLevel::first ? 3 : 2);
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      const WordVec x = hn::Set(Words(), a.words[r * a.stride + step]);
      sums0[r] = add_pairs(pairs_of_bytes(magnitudes0, negated_like(b0, x)), ones, sums0[r]);
      sums1[r] = add_pairs(pairs_of_bytes(magnitudes1, negated_like(b1, x)), ones, sums1[r]);
    }
  }
  const auto finish = [&](int r, int64_t column, IntVec sums) HWY_ATTR {
    const Vec scale = hn::Mul(hn::Set(Floats(), a.scales[r]), load(panel.scales + column));
    store(hn::Mul(hn::ConvertTo(Floats(), sums), scale), tile + r * stride + column);
  };
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    finish(r, 0, sums0[r]);
    finish(r, n, sums1[r]);
  }
}

// The sums over groups, times the rows' own scales.
template <int Rows>
HWY_INLINE void scale_rows(const IntegerRows& a, float* HWY_RESTRICT tile, int64_t stride) {
  const int64_t n = lanes();
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    const Vec scale = hn::Set(Floats(), a.scales[r]);
    store(hn::Mul(load(tile + r * stride), scale), tile + r * stride);
    store(hn::Mul(load(tile + r * stride + n), scale), tile + r * stride + n);
  }
}

HWY_INLINE Vec scales_of_group(HalfType type, const uint16_t* scales) {
  const auto bits = hn::LoadU(HalfWords(), scales);
  const hn::Rebind<hwy::float16_t, Floats> f16;
  return type == HalfType::f16 ? hn::PromoteTo(Floats(), hn::BitCast(f16, bits))
                               : hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(Words(), bits)));
}

// A group's products are at most 15 * 127, and a 16-bit lane sums up half of a word's bytes: no sum leaves the 16 bits.
static_assert(kInt4Group / 2 * 15 * 127 < 1 << 15);

// A group's integers are summed from -8 times the sum of the row's values, since the weights are 8 too large.
template <int Rows>
void int4_tile(const IntegerRows& all_rows, const IntegerPanel& panel, float* HWY_RESTRICT tile, int64_t stride) {
  const IntegerRows a = all_rows;  // a copy, which stores to the tile cannot change: it stays in registers
  const int64_t n = lanes(), groups = panel.depth / kInt4Group, words_of_values = groups * 2 * kInt4GroupWords;
  const int shift = panel.group == kInt4Group ? 0 : 1;
  const HalfType type = panel.group_scale_type;
  const WordVec low_halves = hn::Set(Words(), 0x0f0f0f0fU);
  const uint32_t *b = panel.words, *next = b + words_to_next(int4_panel_words(panel.depth));
  const uint16_t *scales = panel.group_scales,
                 *next_scales = scales + words_to_next(kPanelRows * (panel.depth / panel.group));
  for (int64_t group = 0; group < groups; ++group) {
    ShortVec sums0[Rows], sums1[Rows];
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      sums0[r] = sums1[r] = hn::Zero(Shorts());
    }
    const auto add = [&](const uint32_t* left, WordVec b0, WordVec b1) HWY_ATTR {
#pragma GCC unroll 12
      for (int r = 0; r < Rows; ++r) {
        const WordVec x = hn::Set(Words(), left[r * a.stride]);
        sums0[r] = kept_in_register(hn::Add(sums0[r], pairs_of_bytes(b0, x)));
        sums1[r] = kept_in_register(hn::Add(sums1[r], pairs_of_bytes(b1, x)));
      }
    };
#pragma GCC unroll 4
    for (int64_t word = 0; word < kInt4GroupWords; ++word, b += kPanelRows, next += kPanelRows) {
      hwy::Prefetch(b + kPanelRows * kStepsAhead);
      const uint32_t* const left = a.words + 2 * (group * kInt4GroupWords + word);
      const WordVec b0 = hn::Load(Words(), b), b1 = hn::Load(Words(), next);
      add(left, hn::And(b0, low_halves), hn::And(b1, low_halves));
      add(left + 1, hn::And(hn::ShiftRight<4>(b0), low_halves), hn::And(hn::ShiftRight<4>(b1), low_halves));
    }
    const auto finish = [&](int r, int64_t column, ShortVec sums, Vec scale) HWY_ATTR {
      const IntVec from = hn::BitCast(Ints(), hn::Set(Words(), a.words[r * a.stride + words_of_values + group]));
      const Vec whole = hn::ConvertTo(Floats(), add_pairs(sums, hn::Set(Shorts(), 1), from));
      float* const to = tile + r * stride + column;
      const Vec before = group == 0 ? hn::Zero(Floats()) : load(to);
      store(hn::Add(before, hn::Mul(whole, scale)), to);
    };
    const int64_t at = (group >> shift) * kPanelRows;
    const Vec scale0 = scales_of_group(type, scales + at), scale1 = scales_of_group(type, next_scales + at);
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      finish(r, 0, sums0[r], scale0);
      finish(r, n, sums1[r], scale1);
    }
  }
  scale_rows<Rows>(a, tile, stride);
}

// As int8_tile, with a sum for each group.
template <int Rows>
void int8_groups_tile(const IntegerRows& all_rows, const IntegerPanel& panel, float* HWY_RESTRICT tile,
                      int64_t stride) {
  const IntegerRows a = all_rows;  // a copy, which stores to the tile cannot change: it stays in registers
  const int64_t n = lanes(), groups = panel.depth / kInt8Group;
  const ShortVec ones = hn::Set(Shorts(), 1);
  const uint32_t *b = panel.words, *next = b + words_to_next(int8_panel_words(panel.depth));
  const uint16_t *scales = panel.group_scales, *next_scales = scales + words_to_next(kPanelRows * groups);
  for (int64_t group = 0; group < groups; ++group, scales += kPanelRows, next_scales += kPanelRows) {
    IntVec sums0[Rows], sums1[Rows];
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      sums0[r] = sums1[r] = hn::Zero(Ints());
    }
    for (int64_t word = 0; word < kInt8GroupWords; ++word, b += kPanelRows, next += kPanelRows) {
      const uint32_t* const left = a.words + group * kInt8GroupWords + word;
      const WordVec b0 = hn::Load(Words(), b), b1 = hn::Load(Words(), next);
      const WordVec magnitudes0 = magnitudes(b0), magnitudes1 = magnitudes(b1);
      hwy::Prefetch(b + kPanelRows * kStepsAhead);
#pragma GCC unroll 12
      for (int r = 0; r < Rows; ++r) {
        const WordVec x = hn::Set(Words(), left[r * a.stride]);
        sums0[r] = add_pairs(pairs_of_bytes(magnitudes0, negated_like(b0, x)), ones, sums0[r]);
        sums1[r] = add_pairs(pairs_of_bytes(magnitudes1, negated_like(b1, x)), ones, sums1[r]);
      }
    }
    const auto finish = [&](int r, int64_t column, IntVec sums, Vec scale) HWY_ATTR {
      float* const to = tile + r * stride + column;
      const Vec before = group == 0 ? hn::Zero(Floats()) : load(to);
      store(hn::Add(before, hn::Mul(hn::ConvertTo(Floats(), sums), scale)), to);
    };
    const Vec scale0 = scales_of_group(HalfType::f16, scales);
    const Vec scale1 = scales_of_group(HalfType::f16, next_scales);
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      finish(r, 0, sums0[r], scale0);
      finish(r, n, sums1[r], scale1);
    }
  }
  scale_rows<Rows>(a, tile, stride);
}

using Product = void (*)(const IntegerRows&, const IntegerPanel&, float*, int64_t);

template <CacheLevel l>
constexpr Product kInt8Products[] = {
    int8_tile<1, l>, int8_tile<2, l>, int8_tile<3, l>, int8_tile<4, l>,  int8_tile<5, l>,  int8_tile<6, l>,
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
    int8_tile<7, l>, int8_tile<8, l>, int8_tile<9, l>, int8_tile<10, l>, int8_tile<11, l>, int8_tile<12, l>,
#endif
};
constexpr Product kInt4Products[] = {
    int4_tile<1>, int4_tile<2>, int4_tile<3>, int4_tile<4>,  int4_tile<5>,  int4_tile<6>,
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
    int4_tile<7>, int4_tile<8>, int4_tile<9>, int4_tile<10>, int4_tile<11>, int4_tile<12>,
#endif
};
constexpr Product kInt8GroupProducts[] = {
    int8_groups_tile<1>,  int8_groups_tile<2>,  int8_groups_tile<3>,
    int8_groups_tile<4>,  int8_groups_tile<5>,  int8_groups_tile<6>,
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
    int8_groups_tile<7>,  int8_groups_tile<8>,  int8_groups_tile<9>,
    int8_groups_tile<10>, int8_groups_tile<11>, int8_groups_tile<12>,
#endif
};
static_assert(std::size(kInt8Products<CacheLevel::first>) == kRows && std::size(kInt4Products) == kRows &&
              std::size(kInt8GroupProducts) == kRows);

void multiply_int8(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  const Product* const products =
      level_for_blocks() == CacheLevel::first ? kInt8Products<CacheLevel::first> : kInt8Products<CacheLevel::second>;
  products[rows - 1](a, panel, tile, stride);
}
void multiply_int4(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  kInt4Products[rows - 1](a, panel, tile, stride);
}

void multiply_int8_groups(int64_t rows, const IntegerRows& a, const IntegerPanel& panel, float* tile, int64_t stride) {
  kInt8GroupProducts[rows - 1](a, panel, tile, stride);
}

int64_t words_of_bytes(int64_t depth) { return steps_of_int8(depth); }
int64_t words_of_bytes_and_sums(int64_t depth) { return depth / 4 + depth / kInt4Group; }

}  // namespace

const IntegerKernels* make_integer_kernels(IntegerBits bits) {
  static const IntegerKernels eight{2 * lanes(), words_of_bytes, quantize_to_signed_bytes, multiply_int8};
  static const IntegerKernels four{2 * lanes(), words_of_bytes_and_sums, quantize_to_bytes_and_sums<8>, multiply_int4};
  static const IntegerKernels eight_in_groups{2 * lanes(), words_of_bytes, quantize_to_signed_bytes,
                                              multiply_int8_groups};
  return bits == IntegerBits::eight ? &eight : bits == IntegerBits::four ? &four : &eight_in_groups;
}

#if HWY_ARCH_X86
const IntegerKernels* make_extended_kernels(IntegerBits bits) {
#if HWY_TARGET == HWY_AVX3
  constexpr auto kInt8 = multiply_int8_avx512vnni, kInt4 = multiply_int4_avx512vnni;
  constexpr auto kInt8Groups = multiply_int8_groups_avx512vnni;
#else
  constexpr auto kInt8 = multiply_int8_avxvnni, kInt4 = multiply_int4_avxvnni;
  constexpr auto kInt8Groups = multiply_int8_groups_avxvnni;
#endif
  static const IntegerKernels eight{2 * lanes(), words_of_bytes, quantize_to_unsigned_bytes, kInt8};
  static const IntegerKernels four{2 * lanes(), words_of_bytes_and_sums, quantize_to_bytes_and_sums<8>, kInt4};
  static const IntegerKernels eight_in_groups{2 * lanes(), words_of_bytes_and_sums, quantize_to_bytes_and_sums<128>,
                                              kInt8Groups};
  return bits == IntegerBits::eight ? &eight : bits == IntegerBits::four ? &four : &eight_in_groups;
}
#elif HWY_ARCH_ARM_A64
template <Extension extension>
const IntegerKernels* kernels_with(IntegerBits bits) {
  constexpr bool kSquares = extension == Extension::i8mm;
  constexpr auto kInt8 = kSquares ? multiply_int8_neoni8mm : multiply_int8_neondotprod;
  constexpr auto kInt4 = kSquares ? multiply_int4_neoni8mm : multiply_int4_neondotprod;
  static const IntegerKernels eight{kPanelRows, words_of_bytes, quantize_to_signed_bytes, kInt8};
  static const IntegerKernels four{kPanelRows, words_of_bytes_and_sums, quantize_to_bytes_and_sums<8>, kInt4};
  static const IntegerKernels eight_in_groups{2 * lanes(), words_of_bytes, quantize_to_signed_bytes,
                                              multiply_int8_groups};
  return bits == IntegerBits::eight ? &eight : bits == IntegerBits::four ? &four : &eight_in_groups;
}
const IntegerKernels* make_extended_kernels(IntegerBits bits) {
  return has_extension(Extension::i8mm) ? kernels_with<Extension::i8mm>(bits) : kernels_with<Extension::dotprod>(bits);
}
#else
const IntegerKernels* make_extended_kernels(IntegerBits bits) { return make_integer_kernels(bits); }
#endif

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(make_integer_kernels);
HWY_EXPORT(make_extended_kernels);

namespace {

// Whether the best instruction set here has the instruction for sums of four products; on x86 the panels' width tells.
bool sums_four_products() {
#if defined(__x86_64__)
  limit_instruction_sets();
  const int64_t width = product_kernels().panel_columns;
  return (width == 32 && __builtin_cpu_supports("avx512vnni")) || (width == 16 && has_extension(Extension::avx_vnni));
#else
  return has_extension(Extension::dotprod);
#endif
}

}  // namespace

const IntegerKernels& integer_kernels(IntegerBits bits) {
  return sums_four_products() ? *HWY_DYNAMIC_DISPATCH(make_extended_kernels)(bits)
                              : *HWY_DYNAMIC_DISPATCH(make_integer_kernels)(bits);
}

}  // namespace heed::cpu
#endif
