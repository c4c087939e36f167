#include "kernels/cpu/machine/instruction_sets.h"

#include <hwy/targets.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/text/names.h"

namespace heed::cpu {
namespace {

// In Highway's bit set of instruction sets better ones have lower bits: the bits below this one are to be cleared.
constexpr std::pair<std::string_view, int64_t> kLimits[] = {
    {"sse4", HWY_SSE4}, {"avx2", HWY_AVX2}, {"avxvnni", HWY_AVX2}, {"avx512", int64_t{1}}};

constexpr std::pair<std::string_view, int64_t> kNames[] = {
    {"AVX-512", HWY_AVX3}, {"AVX2", HWY_AVX2}, {"SSE4", HWY_SSE4}, {"NEON", HWY_NEON}};  // best first

bool& avx_vnni_allowed() {
  static bool allowed = true;
  return allowed;
}

bool apply_environment() {
  if (const char* const value = std::getenv("HEED_CPU")) {
    hwy::DisableTargets(value_named("HEED_CPU", value, kLimits) - 1);
    avx_vnni_allowed() = value == std::string_view("avxvnni") || value == std::string_view("avx512");
  }
  return true;
}

// Leaf 7, subleaf 1, bit 4 of EAX; Clang 14 does not know the name for __builtin_cpu_supports.
bool processor_has_avx_vnni() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4U & 1U) != 0;
#else
  return false;
#endif
}

}  // namespace

void limit_instruction_sets() { [[maybe_unused]] static const bool kApplied = apply_environment(); }

bool has_avx_vnni() {
  limit_instruction_sets();
  static const bool kPresent = processor_has_avx_vnni();
  return kPresent && avx_vnni_allowed();
}

void allow_avx_vnni(AvxVnni use) {
  limit_instruction_sets();
  avx_vnni_allowed() = use == AvxVnni::allowed;
}

std::string_view best_instruction_set() {
  limit_instruction_sets();
  const int64_t targets = hwy::SupportedTargets();
  hwy::GetChosenTarget().Update(targets);  // asking makes Highway choose again, and forget the limit
  for (const auto& [name, target] : kNames) {
    if ((targets & target) != 0) {
      return target == HWY_AVX2 && has_avx_vnni() ? "AVX-VNNI" : name;
    }
  }
  return "";
}

}  // namespace heed::cpu
