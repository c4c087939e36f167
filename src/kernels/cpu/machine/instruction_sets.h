// Which of the processor's instruction sets the kernels use: the best one that they are compiled for, or a lesser one
// when the environment asks for it.
#pragma once

#include <cstdint>
#include <string_view>

namespace heed::cpu {

// HEED_CPU names the best instructions that may be used: sse4, avx2, avxvnni (AVX2 with the AVX-VNNI extension) or
// avx512; on ARM neon, dotprod, i8mm or bf16. ConfigError for another value. Takes effect once per process, and must be
// called before asking what the processor supports.
void limit_instruction_sets();

// The best that may be used here: "AVX-512", "AVX-VNNI" (AVX2 with that extension), "AVX2", "SSE4", "NEON", "NEON with
// DotProd", "NEON with I8MM", "NEON with BF16", or "".
std::string_view best_instruction_set();

// The one whose vectors decide in which order numbers are summed: without the name of an extension.
std::string_view vector_instruction_set();

// What Highway does not know of. HEED_CPU allows the one that it names and those before it.
enum class Extension : uint8_t {
  none,
  avx_vnni,  // x86: sums of four 8-bit products in each lane of 256-bit vectors
  dotprod,   // ARM: the same in 128-bit vectors
  i8mm,      // ARM: 2 x 2 such sums of eight products
  bf16,      // ARM: 2 x 2 sums of four products of bf16
};

bool has_extension(Extension extension);  // the processor has it, and it may be used
void limit_extensions(Extension best);    // whatever HEED_CPU says: for tests, before any product

}  // namespace heed::cpu
