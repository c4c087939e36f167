// Options and results of writing a model in another program's format.
#pragma once

#include <cstdint>
#include <string>

#include "heed/types/names.h"

namespace heed {

// How a GGUF file holds matrices.
enum class GgufType : uint8_t {
  f32,
  f16,
  bf16,
  q8_0,  // blocks of 32 columns: a scale in f16, and integers within +-127
  q4_0,  // the same with integers from -8 to 7
};

inline constexpr std::array<NamedValue<GgufType>, 5> kGgufTypeNames{{{"f32", GgufType::f32},
                                                                     {"f16", GgufType::f16},
                                                                     {"bf16", GgufType::bf16},
                                                                     {"q8_0", GgufType::q8_0},
                                                                     {"q4_0", GgufType::q4_0}}};

constexpr std::string_view name_of(GgufType type) { return name_among(kGgufTypeNames, type); }

struct GgufOptions {
  std::string model;   // the directory of a language model, not an adapter
  std::string output;  // the file to write
  GgufType type = GgufType::f16;
};

struct GgufSummary {
  int64_t tensors = 0;
  int64_t bytes = 0;  // of the file
};

}  // namespace heed
