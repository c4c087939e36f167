// Vector building blocks of the CPU kernels, compiled once per instruction set. Everything computes in f32, whatever
// the storage type; every lane does the same arithmetic at any position in a row, so splitting rows differently changes
// no bit.

#if defined(HEED_KERNELS_CPU_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_SIMD_INL_H_
#undef HEED_KERNELS_CPU_SIMD_INL_H_
#else
#define HEED_KERNELS_CPU_SIMD_INL_H_
#endif

#include <hwy/highway.h>
// highway.h first: it defines what the next one needs.
#include <hwy/cache_control.h>
#include <hwy/contrib/math/math-inl.h>

#include <cstdint>
#include <cstring>
#include <iterator>
#include <numbers>

#include "kernels/dropout.h"
#include "tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::RebindToSigned<Floats>;
using Words = hn::RebindToUnsigned<Floats>;
using HalfWords = hn::Rebind<uint16_t, Floats>;  // as many 16-bit lanes as there are floats
using Bytes = hn::Rebind<int8_t, Floats>;        // as many 8-bit lanes
using Vec = hn::Vec<Floats>;
using WordVec = hn::Vec<Words>;

HWY_INLINE int64_t lanes() { return static_cast<int64_t>(hn::Lanes(Floats())); }

// ---- loads and stores that convert ----

HWY_INLINE Vec load(const float* from) { return hn::LoadU(Floats(), from); }
HWY_INLINE Vec load(const bf16* from) {
  const auto halves = hn::LoadU(HalfWords(), reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(Words(), halves)));
}

HWY_INLINE Vec from_bytes(hn::Vec<Bytes> x) {
  return hn::ConvertTo(Floats(), hn::PromoteTo(hn::RebindToSigned<Floats>(), x));
}
HWY_INLINE Vec load(const int8_t* from) { return from_bytes(hn::LoadU(Bytes(), from)); }

// The first `count` elements, followed by zeros; touches no memory beyond them. Only AVX-512 masks all of these
// accesses; the others go through a buffer of one vector.
template <class D>
HWY_INLINE hn::Vec<D> load_first(D d, const hn::TFromD<D>* from, int64_t count) {
#if HWY_TARGET == HWY_AVX3
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
#else
  alignas(64) hn::TFromD<D> whole[hn::MaxLanes(D())] = {};
  std::memcpy(whole, from, static_cast<size_t>(count) * sizeof(whole[0]));
  return hn::Load(d, whole);
#endif
}
template <class D>
HWY_INLINE void store_first(D d, hn::Vec<D> x, hn::TFromD<D>* to, int64_t count) {
#if HWY_TARGET == HWY_AVX3
  hn::BlendedStore(x, hn::FirstN(d, static_cast<size_t>(count)), d, to);
#else
  alignas(64) hn::TFromD<D> whole[hn::MaxLanes(D())];
  hn::Store(x, d, whole);
  std::memcpy(to, whole, static_cast<size_t>(count) * sizeof(whole[0]));
#endif
}

HWY_INLINE Vec load_part(const float* from, int64_t count) { return load_first(Floats(), from, count); }
HWY_INLINE Vec load_part(const bf16* from, int64_t count) {
  const auto halves = load_first(HalfWords(), reinterpret_cast<const uint16_t*>(from), count);
  return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(Words(), halves)));
}

HWY_INLINE Vec load_part(const int8_t* from, int64_t count) { return from_bytes(load_first(Bytes(), from, count)); }

// The upper half of each lane becomes its bf16: to nearest, ties to even. A NaN whose bits are nearly all ones would
// overflow into zero. Arithmetic produces such a NaN only from one, bf16 has none, and parameters are finite, since
// files with other values are refused. Values of unknown origin go through quieted() first.
HWY_INLINE WordVec round_upper_half(Vec x) {
  const Words d;
  const WordVec u = hn::BitCast(d, x);
  const WordVec odd = hn::And(hn::ShiftRight<16>(u), hn::Set(d, 1U));
  return hn::Add(u, hn::Add(odd, hn::Set(d, 0x7fffU)));
}
HWY_INLINE hn::Vec<HalfWords> round_to_bf16(Vec x) {
  return hn::TruncateTo(HalfWords(), hn::ShiftRight<16>(round_upper_half(x)));
}

// x, with every NaN made a quiet one that bf16 can represent.
HWY_INLINE Vec quieted(Vec x) {
  const Words d;
  const WordVec quiet = hn::Or(hn::And(hn::BitCast(d, x), hn::Set(d, 0xffff0000U)), hn::Set(d, 0x400000U));
  return hn::IfThenElse(hn::IsNaN(x), hn::BitCast(Floats(), quiet), x);
}

// x as it would be read back after a store to T.
template <class T>
HWY_INLINE Vec as_stored(Vec x) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return x;
  } else {
    return hn::BitCast(Floats(), hn::And(round_upper_half(x), hn::Set(Words(), 0xffff0000U)));
  }
}

HWY_INLINE void store(Vec x, float* to) { hn::StoreU(x, Floats(), to); }
HWY_INLINE void store(Vec x, bf16* to) { hn::StoreU(round_to_bf16(x), HalfWords(), reinterpret_cast<uint16_t*>(to)); }
HWY_INLINE void store_part(Vec x, float* to, int64_t count) { store_first(Floats(), x, to, count); }
HWY_INLINE void store_part(Vec x, bf16* to, int64_t count) {
  store_first(HalfWords(), round_to_bf16(x), reinterpret_cast<uint16_t*>(to), count);
}

// Calls whole(column) for each whole vector of [0, columns), then part(column, count) for the remaining columns, if
// any.
template <class Whole, class Part>
HWY_INLINE void for_columns(int64_t columns, Whole&& whole, Part&& part) {
  const int64_t n = lanes();
  int64_t c = 0;
  for (; c + n <= columns; c += n) {
    whole(c);
  }
  if (c < columns) {
    part(c, columns - c);
  }
}

// The first min(count, lanes) elements.
template <class T>
HWY_INLINE Vec load_upto(const T* from, int64_t count) {
  return HWY_LIKELY(count >= lanes()) ? load(from) : load_part(from, count);
}
template <class T>
HWY_INLINE void store_upto(Vec x, T* to, int64_t count) {
  HWY_LIKELY(count >= lanes()) ? store(x, to) : store_part(x, to, count);
}

// Calls body(column, left) at every vector's first column; `left` columns remain from there on.
template <class Body>
HWY_INLINE void each_vector(int64_t columns, Body&& body) {
  for (int64_t c = 0; c < columns; c += lanes()) {
    body(c, columns - c);
  }
}

// ---- exponentials ----

constexpr float kLog2E = std::numbers::log2e_v<float>;

// The larger one, or the smaller one, and NaN if x is. On ARM, Highway's own would then take the number.
HWY_INLINE Vec at_least(Vec bound, Vec x) {
#if HWY_TARGET == HWY_NEON
  return Vec(vmaxq_f32(bound.raw, x.raw));
#else
  return hn::Max(bound, x);  // in this order
#endif
}
HWY_INLINE Vec at_most(Vec bound, Vec x) {
#if HWY_TARGET == HWY_NEON
  return Vec(vminq_f32(bound.raw, x.raw));
#else
  return hn::Min(bound, x);
#endif
}

// 2^x for x <= 0 within 2 units in the last place; exactly 1 at 0, and never below 2^-125, so that attention
// never computes with denormal numbers. NaN stays NaN. With n the integer nearest to x and f = x - n: 2^f comes from 1
// + f q(f), whose q is the minimax polynomial on [-1/2, 1/2] for relative error (9e-8); 2^n has the exponent n + 127
// and no other bits.
HWY_INLINE Vec exp2_of(Vec x) {
  const Floats d;
  const Vec rounder = hn::Set(d, 0x1.8p23F + 127.0F);  // a sum with it has n + 127 in its lowest bits
  x = at_least(hn::Set(d, -125.0F), x);
  const Vec shifted = hn::Add(x, rounder);
  const Vec f = hn::Sub(x, hn::Sub(shifted, rounder));
  Vec q = hn::Set(d, 0x1.5bba14p-10F);
  q = hn::MulAdd(q, f, hn::Set(d, 0x1.3cea88p-7F));
  q = hn::MulAdd(q, f, hn::Set(d, 0x1.c6b752p-5F));
  q = hn::MulAdd(q, f, hn::Set(d, 0x1.ebf9bcp-3F));
  q = hn::MulAdd(q, f, hn::Set(d, 0x1.62e42ap-1F));
  q = hn::MulAdd(q, f, hn::Set(d, 1.0F));
  return hn::Mul(q, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(Words(), shifted))));
}

// ---- dropout ----

// 0, 1, 2, ... Highway's Iota of a value known at run time writes the lanes one by one and waits to read them back.
alignas(64) inline constexpr uint32_t kCounting[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static_assert(hn::MaxLanes(Words()) <= std::size(kCounting));

// Words [first, first + lanes) of a row, as RowRandom gives them; columns 2 w and 2 w + 1 are the halves of word w.
HWY_INLINE WordVec draw_words(const RowRandom& row, uint32_t first) {
  const Words d;
  WordVec x = hn::Xor(hn::Add(hn::Load(d, kCounting), hn::Set(d, first)), hn::Set(d, row.first));
  x = hn::Xor(x, hn::ShiftRight<16>(x));
  x = hn::Mul(x, hn::Set(d, 0x7feb352dU));
  x = hn::Xor(x, hn::ShiftRight<15>(x));
  x = hn::Add(x, hn::Set(d, row.second));
  x = hn::Mul(x, hn::Set(d, 0x846ca68bU));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

// The factors of columns [column, column + lanes): 0 or scale, as Dropout::factor gives them one at a time. A vector of
// random words holds the draws of two vectors of columns: going through a row in order draws only every other time.
class DropoutRow {
 public:
  HWY_INLINE DropoutRow(const Dropout& dropout, const RowRandom& row)
      : row_(row), threshold_(dropout.threshold), first_column_(dropout.first_column), scale_(dropout.scale()) {}
  HWY_INLINE DropoutRow(const Dropout& dropout, int64_t row)
      : DropoutRow(dropout, dropout.active() ? dropout.row(row) : RowRandom()) {}

  // `column` is a multiple of lanes.
  HWY_INLINE Vec factors(int64_t column) {
    column += first_column_;
    const hn::Repartition<uint16_t, Floats> halves;
    const int64_t first = column / (2 * lanes()) * (2 * lanes());
    if (first != first_) {
      first_ = first;
      draws_ = hn::BitCast(halves, draw_words(row_, static_cast<uint32_t>(first / 2)));
    }
    const WordVec draw = hn::PromoteTo(
        Words(), column == first ? hn::LowerHalf(HalfWords(), draws_) : hn::UpperHalf(HalfWords(), draws_));
    // Kept when draw >= threshold; both are small, so signed comparison serves.
    const auto kept = hn::Gt(hn::BitCast(Ints(), draw), hn::Set(Ints(), static_cast<int32_t>(threshold_) - 1));
    return hn::IfThenElseZero(hn::RebindMask(Floats(), kept), hn::Set(Floats(), scale_));
  }

  // x times its factors, which are 1 when nothing is dropped.
  HWY_INLINE Vec apply(Vec x, int64_t column) { return threshold_ == 0 ? x : hn::Mul(x, factors(column)); }

 private:
  RowRandom row_;
  uint32_t threshold_, first_column_;
  float scale_;
  int64_t first_ = -1;  // first column of draws_
  hn::Vec<hn::Repartition<uint16_t, Floats>> draws_ = hn::Zero(hn::Repartition<uint16_t, Floats>());
};

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_SIMD_INL_H_
