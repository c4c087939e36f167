// Which sizes of models come into question for a text and a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace heed {

struct ModelSize {
  int64_t width, inner, heads, layers;
};

// From the smallest to the largest.
std::span<const ModelSize> translation_sizes();
std::span<const ModelSize> language_model_sizes();

// How much text a model learns from. Read from runs on 29,000 pairs and a million characters.
struct LearningRules {
  double parameters_per_token;  // of one pass, at most: a larger model learns the text by heart
  double tokens_per_parameter;  // in the whole run, at least: a larger model would not be learned in the time
  double passes;                // at most: more do not help
};

// A size, with what it costs.
struct CostedSize {
  ModelSize size;
  int64_t parameters = 0;
  double tokens_per_second = 0.0;  // 0: not measured
};

// What comes of a size in the time.
struct SizeChoice {
  CostedSize chosen;
  std::vector<CostedSize> slower;  // that were measured and are too slow, the largest first
  double seen = 0.0;               // tokens that it will have read
  bool is_full = false;            // whether the time is enough for all passes
};

// The largest size that the text allows and the time is enough for; the smallest, where there is none. `parameters` and
// `speed` say what a size costs.
SizeChoice choose_size(std::span<const ModelSize> sizes, const LearningRules& rules, double tokens, double seconds,
                       const std::function<int64_t(const ModelSize&)>& parameters,
                       const std::function<double(const ModelSize&)>& speed);

}  // namespace heed
