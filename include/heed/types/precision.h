// The precision of a model's matrix products.
#pragma once

#include <cstdint>

#include "heed/types/names.h"

namespace heed {

// automatic: in training bf16; in inference what the machine multiplies fastest.
enum class Precision : uint8_t { automatic, f32, bf16 };

inline constexpr std::array<NamedValue<Precision>, 3> kPrecisionNames{
    {{"auto", Precision::automatic}, {"f32", Precision::f32}, {"bf16", Precision::bf16}}};

constexpr std::string_view name_of(Precision precision) { return name_among(kPrecisionNames, precision); }

}  // namespace heed
