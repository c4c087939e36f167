// How a model directory stores its weights' matrices.
#pragma once

#include <cstdint>

#include "heed/types/names.h"

namespace heed {

enum class WeightType : uint8_t {
  f32,          // as training leaves them
  bf16,         // rounded to 8 bits of significand
  f16,          // rounded to 11 bits of significand
  int8,         // integers within +-127, with a scale for each output
  int8_groups,  // integers of 8 bits, with a scale for each 32 of an output
  int4,         // integers from -8 to 7, with a scale for each 32 or 64 of an output
  int8_static,  // int8, with one scale for all inputs
};

inline constexpr std::array<NamedValue<WeightType>, 7> kWeightTypeNames{{{"int8", WeightType::int8},
                                                                         {"int8-static", WeightType::int8_static},
                                                                         {"int8-groups", WeightType::int8_groups},
                                                                         {"int4", WeightType::int4},
                                                                         {"bf16", WeightType::bf16},
                                                                         {"f16", WeightType::f16},
                                                                         {"f32", WeightType::f32}}};

constexpr std::string_view name_of(WeightType type) { return name_among(kWeightTypeNames, type); }

}  // namespace heed
