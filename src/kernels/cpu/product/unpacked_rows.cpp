#include "kernels/cpu/product/unpacked_rows.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/product/unpacked_rows.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

// A row's words are a panel's width apart: so many are brought together at a time, whole groups of either size.
constexpr int64_t kWordsAtOnce = 64;

// Calls take(word, count, words) for each part of a row's words.
template <class Take>
HWY_INLINE void each_part(const uint32_t* words_of_row, int64_t count, Take&& take) {
  alignas(64) uint32_t words[kWordsAtOnce];
  for (int64_t first = 0; first < count; first += kWordsAtOnce) {
    const int64_t part = std::min(kWordsAtOnce, count - first);
    for (int64_t i = 0; i < part; ++i) {
      words[i] = words_of_row[(first + i) * kPanelRows];
    }
    take(first, part, words);
  }
}

HWY_INLINE void scale_bytes(const int8_t* from, int64_t count, float scale, float* to) {
  const Vec factor = hn::Set(Floats(), scale);
  each_vector(count, [&](int64_t c, int64_t left)
                         HWY_ATTR { store_upto(hn::Mul(factor, load_upto(from + c, left)), to + c, left); });
}

// Where a row begins in its panel, whose rows have so many words.
const uint32_t* first_word(const uint32_t* words, int64_t panel_words, int64_t row) {
  return words + row / kPanelRows * panel_words + row % kPanelRows;
}

}  // namespace

void run_unpack_int8(const Int8Panels& panels, int64_t row, float* to) {
  const int64_t columns = panels.shape.columns();
  each_part(first_word(panels.words, int8_panel_words(columns), row), steps_of_int8(columns),
            [&](int64_t first, int64_t count, const uint32_t* words) HWY_ATTR {
              scale_bytes(reinterpret_cast<const int8_t*>(words), std::min(4 * count, columns - 4 * first),
                          panels.scales[row], to + 4 * first);
            });
}

void run_unpack_int8_groups(const Int8GroupPanels& panels, int64_t row, float* to) {
  const int64_t columns = panels.shape.columns();
  each_part(first_word(panels.words, int8_panel_words(columns), row), steps_of_int8(columns),
            [&](int64_t first, int64_t count, const uint32_t* words) HWY_ATTR {
              const auto* const bytes = reinterpret_cast<const int8_t*>(words);
              for (int64_t k = 0; k < 4 * count; k += kInt8Group) {
                scale_bytes(bytes + k, kInt8Group, panels.scale(row, 4 * first + k), to + 4 * first + k);
              }
            });
}

// Eight values of a word: the low halves of its bytes, then the high ones.
void run_unpack_int4(const Int4Panels& panels, int64_t row, float* to) {
  constexpr uint32_t kLowHalves = 0x0f0f0f0fU, kEights = 0x08080808U;
  const int64_t columns = panels.shape.columns();
  each_part(first_word(panels.words, int4_panel_words(columns), row), steps_of_int4(columns),
            [&](int64_t first, int64_t count, const uint32_t* words) HWY_ATTR {
              alignas(64) int8_t bytes[8 * kWordsAtOnce];
              for (int64_t i = 0; i < count; ++i) {
                const uint32_t halves[] = {words[i] & kLowHalves, words[i] >> 4 & kLowHalves};
                for (int half = 0; half < 2; ++half) {
                  // Bytes from 0 to 15, less 8: no byte borrows from the next, whose highest bit is set meanwhile.
                  const uint32_t less = ((halves[half] | 16 * kEights) - kEights) ^ 16 * kEights;
                  std::memcpy(bytes + 8 * i + 4 * half, &less, sizeof less);
                }
              }
              for (int64_t k = 0; k < 8 * count; k += panels.group) {
                scale_bytes(bytes + k, panels.group, panels.scale(row, 8 * first + k), to + 8 * first + k);
              }
            });
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_unpack_int8);
HWY_EXPORT(run_unpack_int8_groups);
HWY_EXPORT(run_unpack_int4);

void unpack_row(const Int8Panels& panels, int64_t row, float* to) {
  HWY_DYNAMIC_DISPATCH(run_unpack_int8)(panels, row, to);
}

void unpack_row(const Int8GroupPanels& panels, int64_t row, float* to) {
  HWY_DYNAMIC_DISPATCH(run_unpack_int8_groups)(panels, row, to);
}

void unpack_row(const Int4Panels& panels, int64_t row, float* to) {
  HWY_DYNAMIC_DISPATCH(run_unpack_int4)(panels, row, to);
}

}  // namespace heed::cpu
#endif
