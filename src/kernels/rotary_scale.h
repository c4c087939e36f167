// By which angles rotary positions turn, with the scalings for contexts beyond training.
#pragma once

#include <cstdint>

#include "heed/types/context.h"

namespace heed {

// Which pairs are slowed down depends on how often they turn in the trained length.
inline bool is_by_turns(RotaryScaling scaling) {
  return scaling == RotaryScaling::yarn || scaling == RotaryScaling::llama3;
}

struct RotaryScale {
  RotaryScaling scaling = RotaryScaling::none;
  double factor = 1.0;                        // how many times the trained length
  double trained_length = 0.0;                // of yarn and llama3
  double slow_turns = 0.0, fast_turns = 0.0;  // of these: see RotaryPairs; 0: 1, and 32 of yarn, 4 of llama3
  double magnitude = 0.0;                     // 0: of yarn 0.1 ln(factor) + 1, otherwise 1
  bool operator==(const RotaryScale&) const = default;
};

// The pairs (c, c + dims / 2) of a head, for c from 0 on.
struct RotaryPairs {
  int64_t dims = 0;
  double base = 10000.0;
  RotaryScale scale;
  bool operator==(const RotaryPairs&) const = default;

  // A pair's angle per position. With f(c) = base^(-2c / dims) and factor s:
  //   none:    f(c)
  //   linear:  f(c) / s
  //   ntk:     f(c) with base * s^(dims / (dims - 2)) for the base: the slowest pair turns s times as slowly, the
  //            fastest as before
  //   yarn:    r(c) f(c) / s + (1 - r(c)) f(c), where the ramp r rises with c from 0 for pairs that turn fast_turns
  //            times or more in the trained length to 1 for those that turn slow_turns times or fewer
  //   llama3:  the same, with a ramp that falls with the number of turns instead
  double frequency(int64_t pair) const;
  // What queries and keys are multiplied by: yarn's temperature, 0.1 ln(s) + 1, unless the scale says another.
  double magnitude() const;
};

}  // namespace heed
