#include "tune/verdict.h"

#include <cmath>
#include <numeric>

namespace heed {
namespace {

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

Verdict compare_seeds(std::span<const double> best, std::span<const double> recipe) {
  if (best.empty() || recipe.empty()) {
    return {};
  }
  Verdict verdict{.difference = mean_of(best) - mean_of(recipe)};
  double squares = 0.0, pairs = 0.0;
  for (const std::span<const double> seeds : {best, recipe}) {
    if (seeds.size() == 2) {
      squares += (seeds[0] - seeds[1]) * (seeds[0] - seeds[1]) / 2.0;
      pairs += 1.0;
    }
  }
  if (pairs == 0.0) {
    return verdict;
  }
  const double inverses = 1.0 / static_cast<double>(best.size()) + 1.0 / static_cast<double>(recipe.size());
  verdict.noise = 2.0 * std::sqrt(squares / pairs * inverses);
  const bool is_real = verdict.difference > verdict.noise && best.back() > mean_of(recipe);
  verdict.gain = verdict.difference <= 0.0 ? Gain::none : is_real ? Gain::real : Gain::noise;
  return verdict;
}

}  // namespace heed
