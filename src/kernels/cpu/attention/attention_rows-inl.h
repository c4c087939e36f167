// What attention computes row by row between its products: exponentials, reductions, masks and dropout.

#if defined(HEED_KERNELS_CPU_ATTENTION_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_ROWS_INL_H_
#undef HEED_KERNELS_CPU_ATTENTION_ROWS_INL_H_
#else
#define HEED_KERNELS_CPU_ATTENTION_ROWS_INL_H_
#endif

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>

#include "kernels/cpu/attention/attention_plan.h"
#include "kernels/cpu/attention/attention_tile-inl.h"
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

constexpr float kLn2 = std::numbers::ln2_v<float>;
constexpr float kLowest = std::numeric_limits<float>::lowest();

// The bits of one vector from a block's word.
HWY_INLINE hn::Mask<Floats> mask_of(uint64_t word, int64_t vector) {
  const uint64_t bits = word >> (vector * kLanes);
  uint8_t bytes[8];
  std::memcpy(bytes, &bits, sizeof(bits));
  return hn::LoadMaskBits(Floats(), bytes);
}

// Vectors [begin, end) of a row of scores.
struct Span {
  uint8_t begin, end;
  bool operator==(const Span&) const = default;
};

constexpr uint64_t kAllKeys = ~uint64_t{0};
constexpr int64_t kBlockVectors = kKeyBlock / kLanes;

// The largest of a row's scores of seen keys, lane by lane; kLowest if there are none.
HWY_INLINE Vec largest_score(const float* scores, uint64_t seen, Span vectors) {
  Vec largest = hn::Set(Floats(), kLowest);
  if (seen == kAllKeys) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < kBlockVectors; ++v) {
      largest = hn::Max(largest, load(scores + v * kLanes));
    }
    return largest;
  }
  for (int64_t v = vectors.begin; v < vectors.end; ++v) {
    const Vec s = load(scores + v * kLanes);
    largest = hn::Max(largest, hn::IfThenElse(mask_of(seen, v), s, largest));
  }
  return largest;
}

// A row's scores become p = 2^(s - maximum) for keys that are seen and kept by dropout, zero for others. Returns the
// sum of p over all seen keys, kept or not, lane by lane. The first function is for rows that see the whole block.
template <class Keep>
HWY_INLINE Vec exponentials_of_all(float* scores, Vec maximum, const Keep& keep) {
  Vec sum = hn::Zero(Floats());
#pragma GCC unroll 4
  for (int64_t v = 0; v < kBlockVectors; ++v) {
    const Vec p = exp2_of(hn::Sub(load(scores + v * kLanes), maximum));
    sum = hn::Add(sum, p);
    store(keep(v, p), scores + v * kLanes);
  }
  return sum;
}

HWY_INLINE Vec exponentials(float* scores, Vec maximum, int64_t keys, uint64_t seen, Span vectors, uint64_t kept) {
  const auto keep = [kept](int64_t v, Vec p) { return hn::IfThenElseZero(mask_of(kept, v), p); };
  if (seen == kAllKeys) {
    return kept == kAllKeys ? exponentials_of_all(scores, maximum, [](int64_t, Vec p) { return p; })
                            : exponentials_of_all(scores, maximum, keep);
  }
  Vec sum = hn::Zero(Floats());
  for (int64_t v = 0; v < vectors_for(keys); ++v) {
    Vec p = hn::Zero(Floats());
    if (v >= vectors.begin && v < vectors.end) {
      p = hn::IfThenElseZero(mask_of(seen, v), exp2_of(hn::Sub(load(scores + v * kLanes), maximum)));
      sum = hn::Add(sum, p);
    }
    store(keep(v, p), scores + v * kLanes);
  }
  return sum;
}

// Reduces each of kLanes rows of lanes to one value: lane r of the result is row r's. The tree over lanes is the same
// for every row.
template <class Combine>
HWY_INLINE Vec reduce_rows(const float* rows, const Combine& combine) {
  const Floats d;
  Vec x[kLanes];
#pragma GCC unroll 16
  for (int64_t r = 0; r < kLanes; ++r) {
    x[r] = hn::Load(d, rows + r * kLanes);
  }
#pragma GCC unroll 4
  for (int64_t left = kLanes / 2; left > 0; left /= 2) {
#pragma GCC unroll 8
    for (int64_t r = 0; r < left; ++r) {
      x[r] = combine(hn::ConcatEven(d, x[2 * r + 1], x[2 * r]), hn::ConcatOdd(d, x[2 * r + 1], x[2 * r]));
    }
  }
  return x[0];
}

// The RowRandom of each row, when the first of the range's heads is `first_head`; does nothing without
// dropout. Plain loops: the compiler vectorizes them.
inline void draw_rows(const AttentionSettings& settings, const QueryRows& rows, int64_t first_head, RowRandom* random) {
  const Dropout& dropout = settings.dropout;
  const uint64_t heads = settings.drawn_heads();
  for (int64_t h = 0; dropout.active() && h < rows.heads(); ++h, random += rows.queries()) {
    const uint64_t first = settings.draw_row(rows.query_row(0), first_head + h);
    for (int64_t i = 0; i < rows.queries(); ++i) {
      random[i] = RowRandom(dropout.key, first + static_cast<uint64_t>(i * rows.stride()) * heads);
    }
  }
}

// The keys of a block that dropout keeps for one row: one bit each, the first `keys` of them. first_key is even.
HWY_INLINE uint64_t kept_bits(const RowRandom& row, uint32_t threshold, int64_t first_key, int64_t keys) {
  const hn::Repartition<uint16_t, Words> halves;  // in the order of the columns
  const auto limit = hn::Set(halves, static_cast<uint16_t>(threshold - 1));
  constexpr int64_t kDraws = 2 * kLanes;
  uint64_t kept = 0;
  for (int64_t j = 0; j < keys; j += kDraws) {
    const WordVec words = draw_words(row, static_cast<uint32_t>((first_key + j) / 2));
    uint8_t bytes[8];
    hn::StoreMaskBits(halves, hn::Gt(hn::BitCast(halves, words), limit), bytes);
    uint64_t bits = 0;
    std::memcpy(&bits, bytes, kDraws / 8);
    kept |= bits << j;
  }
  return kept;
}

// The steps from the lowest to the highest bit of a word.
HWY_INLINE Steps steps_of_bits(uint64_t word) {
  return word == 0 ? Steps{0, 0} : Steps{std::countr_zero(word), 64 - std::countl_zero(word)};
}

HWY_INLINE uint64_t union_of(const uint64_t* words, int64_t count) {
  uint64_t all = 0;
  for (int64_t i = 0; i < count; ++i) {
    all |= words[i];
  }
  return all;
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_ATTENTION_ROWS_INL_H_
