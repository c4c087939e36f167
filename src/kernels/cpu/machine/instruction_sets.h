// Which of the processor's instruction sets the kernels use: the best one that they are compiled for, or a lesser one
// when the environment asks for it.
#pragma once

#include <string_view>

namespace heed::cpu {

// HEED_CPU names the best instruction set that may be used: sse4, avx2, avxvnni (AVX2 with the AVX-VNNI extension) or
// avx512. ConfigError for another value. Takes effect once per process, and must be called before asking what the
// processor supports.
void limit_instruction_sets();

// The best that may be used here: "AVX-512", "AVX-VNNI" (AVX2 with that extension), "AVX2", "SSE4", "NEON", or "".
std::string_view best_instruction_set();

// Whether the processor has AVX-VNNI, four 8-bit products in a lane of 256-bit vectors, and it may be used.
bool has_avx_vnni();

enum class AvxVnni : bool { forbidden, allowed };
void allow_avx_vnni(AvxVnni use);  // whatever HEED_CPU says: for tests, before any product

}  // namespace heed::cpu
