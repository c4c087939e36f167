// How many tokens a model takes when it is run, which may be more than it was trained with.
#pragma once

#include <array>
#include <cstdint>

#include "heed/types/names.h"

namespace heed {

// How rotary positions are slowed down for contexts beyond training; docs/models/positions.md has the formulas.
enum class RotaryScaling : uint8_t { none, linear, ntk, yarn, llama3 };

inline constexpr std::array<NamedValue<RotaryScaling>, 5> kRotaryScalingNames{{{"none", RotaryScaling::none},
                                                                               {"linear", RotaryScaling::linear},
                                                                               {"ntk", RotaryScaling::ntk},
                                                                               {"yarn", RotaryScaling::yarn},
                                                                               {"llama3", RotaryScaling::llama3}}};

struct ContextOptions {
  int64_t max_length = 0;  // tokens; 0: the model's own
  // For more than the model's own: slows rotary positions down by max_length / the model's own. none: as trained.
  RotaryScaling rotary_scaling = RotaryScaling::none;
};

}  // namespace heed
