// A text of n tokens hides h = round(n * share) of them, at least one and at most n - 1.
//   spans      k = round(h / mean length) spans; the h tokens are cut into k parts at random, and so are the n - h
//              others; parts of both kinds take turns, beginning with one that is kept
//   infilling  lengths are drawn from the Poisson distribution until their sum is h, the last one cut; the n - h tokens
//              that are kept lie around the spans at random
#include "data/batches/noised_text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/errors.h"
#include "data/batches/permutation.h"

namespace heed {
namespace {

// `count` of the numbers from 0 to below `size`, ascending, each choice equally likely.
std::vector<int64_t> chosen_of(RandomKey key, int64_t size, int64_t count) {
  std::vector<int64_t> chosen;
  if (count > 0) {
    const Permutation permuted(key, size);
    for (int64_t i = 0; i < count; ++i) {
      chosen.push_back(permuted(i));
    }
    std::ranges::sort(chosen);
  }
  return chosen;
}

// The lengths of `parts` parts of `whole` tokens, none of them empty.
std::vector<int64_t> cut_at_random(RandomKey key, int64_t whole, int64_t parts) {
  std::vector<int64_t> lengths;
  int64_t begin = 0;
  for (const int64_t cut : chosen_of(key, whole - 1, parts - 1)) {
    lengths.push_back(cut + 1 - begin);
    begin = cut + 1;
  }
  lengths.push_back(whole - begin);
  return lengths;
}

// The smallest k for which P(length <= k) is above the draw.
int64_t poisson(double draw, double mean) {
  constexpr int64_t kMost = 1000;
  double probability = std::exp(-mean), sum = probability;
  int64_t k = 0;
  while (sum <= draw && k < kMost) {
    ++k;
    probability *= mean / static_cast<double>(k);
    sum += probability;
  }
  return k;
}

int64_t hidden_of(int64_t tokens, double share) {
  return std::clamp<int64_t>(std::llround(static_cast<double>(tokens) * share), 1, tokens - 1);
}

}  // namespace

void NoiseRules::validate() const {
  require<ConfigError>(share > 0.0 && share < 1.0, "recipe", "data.noise_share is {}, expected above 0 and below 1",
                       share);
  require<ConfigError>(mean_length >= 1.0 && mean_length <= 100.0, "recipe",
                       "data.noise_length is {}, expected 1 to 100", mean_length);
}

Noising::Noising(const NoiseRules& rules, std::vector<int32_t> marks) : rules_(rules), marks_(std::move(marks)) {
  rules_.validate();
  ensure(marks_.size() >= (rules.kind == NoiseKind::spans ? 2U : 1U), "noise", "{} marks", marks_.size());
}

NoisedText Noising::apply(std::span<const int32_t> text, RandomKey key) const {
  ensure(text.size() >= 2, "noise", "a text of {} tokens", text.size());
  return rules_.kind == NoiseKind::spans ? with_spans(text, key) : with_infilling(text, key);
}

NoisedText Noising::with_spans(std::span<const int32_t> text, RandomKey key) const {
  const int64_t tokens = std::ssize(text), hidden = hidden_of(tokens, rules_.share);
  const int64_t most = std::min({hidden, tokens - hidden, std::ssize(marks_) - 1});
  const int64_t spans = std::clamp<int64_t>(std::llround(static_cast<double>(hidden) / rules_.mean_length), 1, most);
  const std::vector<int64_t> lost = cut_at_random(key.derive("hidden"), hidden, spans);
  const std::vector<int64_t> kept = cut_at_random(key.derive("kept"), tokens - hidden, spans);
  NoisedText noised;
  auto at = text.begin();
  for (size_t span = 0; span < lost.size(); ++span) {
    noised.source.insert(noised.source.end(), at, at + kept[span]);
    at += kept[span];
    noised.source.push_back(marks_[span]);
    noised.target.push_back(marks_[span]);
    noised.target.insert(noised.target.end(), at, at + lost[span]);
    at += lost[span];
  }
  noised.target.push_back(marks_[lost.size()]);
  return noised;
}

NoisedText Noising::with_infilling(std::span<const int32_t> text, RandomKey key) const {
  const int64_t tokens = std::ssize(text), hidden = hidden_of(tokens, rules_.share);
  std::vector<int64_t> lengths;
  // Not more spans than hidden tokens, however many are empty.
  for (int64_t left = hidden; left > 0;) {
    const bool is_last = std::ssize(lengths) + 1 == hidden;
    const double draw = uniform_draw(key.derive("length"), lengths.size());
    lengths.push_back(is_last ? left : std::min(left, poisson(draw, rules_.mean_length)));
    left -= lengths.back();
  }
  const int64_t spans = std::ssize(lengths), kept = tokens - hidden;
  NoisedText noised{.source = {}, .target = {text.begin(), text.end()}};
  auto at = text.begin();
  int64_t before = 0, span = 0;
  // Spans and kept tokens are in one row, and the spans take these places of it.
  for (const int64_t place : chosen_of(key.derive("place"), kept + spans, spans)) {
    noised.source.insert(noised.source.end(), at, at + (place - before));
    at += place - before;
    noised.source.push_back(marks_.front());
    at += lengths[static_cast<size_t>(span++)];
    before = place + 1;
  }
  noised.source.insert(noised.source.end(), at, text.end());
  return noised;
}

}  // namespace heed
