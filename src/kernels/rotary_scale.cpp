#include "kernels/rotary_scale.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace heed {
namespace {

// The pair that turns this many times in the trained length, as a fraction.
double pair_that_turns(double times, const RotaryPairs& pairs) {
  return static_cast<double>(pairs.dims) * std::log(pairs.scale.trained_length / (times * 2.0 * std::numbers::pi)) /
         (2.0 * std::log(pairs.base));
}

double slow_turns(const RotaryScale& scale) { return scale.slow_turns > 0.0 ? scale.slow_turns : 1.0; }
double fast_turns(const RotaryScale& scale) {
  return scale.fast_turns > 0.0 ? scale.fast_turns : scale.scaling == RotaryScaling::llama3 ? 4.0 : 32.0;
}

double yarn_ramp(double pair, const RotaryPairs& pairs) {
  const double low = std::max(0.0, std::floor(pair_that_turns(fast_turns(pairs.scale), pairs)));
  double high =
      std::min(static_cast<double>(pairs.dims - 1), std::ceil(pair_that_turns(slow_turns(pairs.scale), pairs)));
  high = high == low ? low + 0.001 : high;
  return std::clamp((pair - low) / (high - low), 0.0, 1.0);
}

double llama3_ramp(double frequency, const RotaryScale& scale) {
  const double turns = scale.trained_length * frequency / (2.0 * std::numbers::pi);
  const double slow = slow_turns(scale), fast = fast_turns(scale);
  return 1.0 - std::clamp((turns - slow) / (fast - slow), 0.0, 1.0);
}

}  // namespace

double RotaryPairs::frequency(int64_t pair) const {
  const auto width = static_cast<double>(dims), c = static_cast<double>(pair);
  const double plain = std::pow(base, -2.0 * c / width);
  switch (scale.scaling) {
    case RotaryScaling::none:
      return plain;
    case RotaryScaling::linear:
      return plain / scale.factor;
    case RotaryScaling::ntk:
      return dims <= 2 ? plain : plain * std::pow(scale.factor, -2.0 * c / (width - 2.0));
    case RotaryScaling::yarn: {
      const double ramp = yarn_ramp(c, *this);
      return ramp * plain / scale.factor + (1.0 - ramp) * plain;
    }
    case RotaryScaling::llama3: {
      const double ramp = llama3_ramp(plain, scale);
      return ramp * plain / scale.factor + (1.0 - ramp) * plain;
    }
  }
  return plain;
}

double RotaryPairs::magnitude() const {
  if (scale.magnitude > 0.0) {
    return scale.magnitude;
  }
  return scale.scaling == RotaryScaling::yarn && scale.factor > 1.0 ? 0.1 * std::log(scale.factor) + 1.0 : 1.0;
}

}  // namespace heed
