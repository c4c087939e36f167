// The size of the tiles in which products are computed.

#if defined(HEED_KERNELS_CPU_PRODUCT_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_PRODUCT_TILE_INL_H_
#undef HEED_KERNELS_CPU_PRODUCT_TILE_INL_H_
#else
#define HEED_KERNELS_CPU_PRODUCT_TILE_INL_H_
#endif

#include <cstdint>

#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

// Accumulators, a panel row and one broadcast fit in the registers: 24 + 2 + 1 of 32, or 12 + 2 + 1 of 16.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON  // 32 registers
constexpr int kRows = 12;
#else
constexpr int kRows = 6;
#endif
constexpr int kVectors = 2;  // of columns
constexpr int kFewRows = 2;  // take several panels at once

HWY_INLINE int64_t panel_width() { return kVectors * lanes(); }

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
