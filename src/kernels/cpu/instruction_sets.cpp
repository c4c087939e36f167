#include "kernels/cpu/instruction_sets.h"

#include <hwy/targets.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/names.h"

namespace heed::cpu {
namespace {

// In Highway's bit set of instruction sets better ones have lower bits: the bits below this one are to be cleared.
constexpr std::pair<std::string_view, int64_t> kLimits[] = {
    {"sse4", HWY_SSE4}, {"avx2", HWY_AVX2}, {"avx512", int64_t{1}}};

constexpr std::pair<std::string_view, int64_t> kNames[] = {
    {"AVX-512", HWY_AVX3}, {"AVX2", HWY_AVX2}, {"SSE4", HWY_SSE4}, {"NEON", HWY_NEON}};  // best first

bool apply_environment() {
  if (const char* const value = std::getenv("HEED_CPU")) {
    hwy::DisableTargets(value_named("HEED_CPU", value, kLimits) - 1);
  }
  return true;
}

}  // namespace

void limit_instruction_sets() { [[maybe_unused]] static const bool kApplied = apply_environment(); }

std::string_view best_instruction_set() {
  limit_instruction_sets();
  const int64_t targets = hwy::SupportedTargets();
  hwy::GetChosenTarget().Update(targets);  // asking makes Highway choose again, and forget the limit
  for (const auto& [name, target] : kNames) {
    if ((targets & target) != 0) {
      return name;
    }
  }
  return "";
}

}  // namespace heed::cpu
