// Is the best trial better than the recipe, or is it luck? Two seeds of the same settings tell how much luck there is.
#pragma once

#include <cstdint>
#include <span>

namespace heed {

enum class Gain : uint8_t { none, noise, real, unknown };

struct Verdict {
  Gain gain = Gain::unknown;
  double difference = 0.0;  // of the means
  double noise = 0.0;       // what luck alone may make of it
};

// Values of whole runs by seed; higher is better. With sd^2 the mean over those that have two seeds of (a - b)^2 / 2:
//   noise = 2 sd sqrt(1 / #best + 1 / #recipe)
// The first seed of the best trial is flattered, for it was chosen by it: a gain is real where the difference exceeds
// the noise and the second seed alone is better than the recipe too. Unknown without two seeds.
Verdict compare_seeds(std::span<const double> best, std::span<const double> recipe);

}  // namespace heed
