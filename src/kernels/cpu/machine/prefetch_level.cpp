#include "kernels/cpu/machine/prefetch_level.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace heed::cpu {
namespace {

bool is_zen5() {
#if defined(__x86_64__)
  constexpr unsigned kZen5 = 0x1A;
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool amd = __get_cpuid(0, &a, &b, &c, &d) != 0 && b == signature_AMD_ebx;
  if (!amd || __get_cpuid(1, &a, &b, &c, &d) == 0) {
    return false;
  }
  const unsigned family = a >> 8U & 0xFU, extended = a >> 20U & 0xFFU;
  return family == 0xF && family + extended == kZen5;
#else
  return false;
#endif
}

}  // namespace

CacheLevel level_for_blocks() {
  static const CacheLevel kLevel = is_zen5() ? CacheLevel::first : CacheLevel::second;
  return kLevel;
}

}  // namespace heed::cpu
