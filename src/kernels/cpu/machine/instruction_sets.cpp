#include "kernels/cpu/machine/instruction_sets.h"

#include <hwy/targets.h>
#if HWY_ARCH_X86
#include <cpuid.h>
#elif HWY_ARCH_ARM_A64
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/text/names.h"

namespace heed::cpu {
namespace {

// In Highway's bit set of instruction sets better ones have lower bits: the bits below `target` are to be cleared.
struct Limit {
  int64_t target;
  Extension extension;
};
constexpr int64_t kEveryTarget = 1;

#if HWY_ARCH_ARM
constexpr std::pair<std::string_view, Limit> kLimits[] = {{"neon", {kEveryTarget, Extension::none}},
                                                          {"dotprod", {kEveryTarget, Extension::dotprod}},
                                                          {"i8mm", {kEveryTarget, Extension::i8mm}},
                                                          {"bf16", {kEveryTarget, Extension::bf16}}};
#else
constexpr std::pair<std::string_view, Limit> kLimits[] = {{"sse4", {HWY_SSE4, Extension::none}},
                                                          {"avx2", {HWY_AVX2, Extension::none}},
                                                          {"avxvnni", {HWY_AVX2, Extension::avx_vnni}},
                                                          {"avx512", {kEveryTarget, Extension::avx_vnni}}};
#endif

struct Name {
  std::string_view name;
  int64_t target;
  Extension extension = Extension::none;
};
constexpr Name kNames[] = {  // best first
    {"AVX-512", HWY_AVX3},
    {"AVX-VNNI", HWY_AVX2, Extension::avx_vnni},
    {"AVX2", HWY_AVX2},
    {"SSE4", HWY_SSE4},
    {"NEON with BF16", HWY_NEON, Extension::bf16},
    {"NEON with I8MM", HWY_NEON, Extension::i8mm},
    {"NEON with DotProd", HWY_NEON, Extension::dotprod},
    {"NEON", HWY_NEON}};

constexpr Extension kBest = Extension::bf16;

Extension& best_extension() {
  static Extension best = kBest;
  return best;
}

bool apply_environment() {
  if (const char* const value = std::getenv("HEED_CPU")) {
    const Limit limit = value_named("HEED_CPU", value, kLimits);
    hwy::DisableTargets(limit.target - 1);
    best_extension() = limit.extension;
  }
  return true;
}

using Extensions = std::array<bool, static_cast<size_t>(kBest) + 1>;

Extensions extensions_of_processor() {
  Extensions has{true};
#if HWY_ARCH_X86
  // Leaf 7, subleaf 1, bit 4 of EAX; Clang 14 does not know the name for __builtin_cpu_supports.
  unsigned a = 0, b = 0, c = 0, d = 0;
  has[static_cast<size_t>(Extension::avx_vnni)] = __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4U & 1U) != 0;
#elif HWY_ARCH_ARM_A64
  // What the operating system says that programs may use. I8MM's kernels take single rows by dot products.
  const bool dotprod = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  has[static_cast<size_t>(Extension::dotprod)] = dotprod;
  has[static_cast<size_t>(Extension::i8mm)] = dotprod && (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
  has[static_cast<size_t>(Extension::bf16)] = (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0;
#endif
  return has;
}

// The name of the best instruction set here whose extension is wanted.
template <class Wanted>
std::string_view best_name(Wanted wanted) {
  limit_instruction_sets();
  const int64_t targets = hwy::SupportedTargets();
  hwy::GetChosenTarget().Update(targets);  // asking makes Highway choose again, and forget the limit
  for (const Name& candidate : kNames) {
    if ((targets & candidate.target) != 0 && wanted(candidate.extension)) {
      return candidate.name;
    }
  }
  return "";
}

}  // namespace

void limit_instruction_sets() { [[maybe_unused]] static const bool kApplied = apply_environment(); }

bool has_extension(Extension extension) {
  limit_instruction_sets();
  static const Extensions kPresent = extensions_of_processor();
  return extension <= best_extension() && kPresent[static_cast<size_t>(extension)];
}

void limit_extensions(Extension best) {
  limit_instruction_sets();
  best_extension() = best;
}

std::string_view best_instruction_set() {
  return best_name([](Extension extension) { return has_extension(extension); });
}

std::string_view vector_instruction_set() {
  return best_name([](Extension extension) { return extension == Extension::none; });
}

}  // namespace heed::cpu
