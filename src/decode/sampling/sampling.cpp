#include "decode/sampling/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/errors.h"
#include "decode/sampling/score_blocks.h"

namespace heed {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr size_t kFirstSorted = 64;
constexpr double kLargest = 1000.0;  // temperature and penalties, beyond which only rounding changes

// In a tie the smaller token is the better one, so that the order is always defined.
constexpr auto kBetter = [](const auto& a, const auto& b) {
  return a.score != b.score ? a.score > b.score : a.token < b.token;
};

// Token i arrives after -ln(1 - u) / weight, with a u in [0, 1) of its own, and the first one wins: with probability
// weight / (sum of weights). If two distributions are similar, the same draw mostly gives the same token: with
// probability (1 - d) / (1 + d) or more at a total variation of d. One u for all tokens would not give this for every
// order of tokens.
int32_t race(std::span<const SamplingCandidate> candidates, RandomKey key) {
  double first = std::numeric_limits<double>::infinity();
  int32_t winner = -1;
  for (const auto& [token, score, weight] : candidates) {
    const double u = uniform_draw(key, static_cast<uint64_t>(token));
    // -ln(1 - u) is u or more, so that most tokens need no logarithm.
    if (weight == 0.0 || u > first * weight) {
      continue;
    }
    const double arrival = -std::log1p(-u) / weight;
    if (arrival < first || (arrival == first && token < winner)) {
      first = arrival;
      winner = token;
    }
  }
  return winner;
}

void require_finite(double best_score) {
  require<FormatError>(std::isfinite(best_score), "sampling",
                       "no logit of the model is a finite number: its weights are damaged");
}

}  // namespace

void validate(const SamplingOptions& options) {
  constexpr std::string_view kWhere = "sampling";
  require_option(options.temperature >= 0.0 && options.temperature <= kLargest, kWhere, "temperature",
                 options.temperature, "0 to 1000");
  require_option(options.top_k >= 0, kWhere, "top-k", options.top_k, "1 or more, or 0 for all tokens");
  require_option(options.top_p > 0.0 && options.top_p <= 1.0, kWhere, "top-p", options.top_p, "more than 0, at most 1");
  require_option(options.min_p >= 0.0 && options.min_p <= 1.0, kWhere, "min-p", options.min_p, "0 to 1");
  require_option(options.repetition_penalty >= 1.0 / kLargest && options.repetition_penalty <= kLargest, kWhere,
                 "repetition penalty", options.repetition_penalty, "0.001 to 1000");
  require_option(std::abs(options.presence_penalty) <= kLargest, kWhere, "presence penalty", options.presence_penalty,
                 "-1000 to 1000");
  require_option(std::abs(options.frequency_penalty) <= kLargest, kWhere, "frequency penalty",
                 options.frequency_penalty, "-1000 to 1000");
  std::set<int32_t> biased;
  for (const auto& [token, bias] : options.logit_bias) {
    require<ConfigError>(std::abs(bias) <= kMaxTokenBias, "logit bias", "of token {} is {}, expected {} to {}", token,
                         bias, -kMaxTokenBias, kMaxTokenBias);
    require<ConfigError>(biased.insert(token).second, "logit bias", "token {} has two", token);
  }
}

Sampler::Sampler(const SamplingOptions& options, TokenRules rules, int64_t max_length)
    : options_(options),
      rules_(std::move(rules)),
      max_length_(max_length),
      has_biases_(!options.logit_bias.empty()),
      has_penalties_(options.repetition_penalty != 1.0 || options.presence_penalty != 0.0 ||
                     options.frequency_penalty != 0.0) {}

int32_t Sampler::sample(std::span<const float> logits, const TokenCounts& counts, const Draw& draw,
                        SamplingMemory& memory, const WrittenText& text) const {
  if (rules_.look_at_text()) {
    ensure(text.tokens.size() >= draw.position, "sampling", "a text of {} tokens at position {}", text.tokens.size(),
           draw.position);
    AutomatonWalk from_the_beginning;
    rules_.forbid({text.tokens, static_cast<int64_t>(draw.position), max_length_},
                  text.walk == nullptr ? from_the_beginning : *text.walk, memory.forbidden);
  } else {
    memory.forbidden.reset(rules_.suppressed);
  }
  if (options_.temperature == 0.0 && !has_biases_ && !has_penalties_) {
    return best(logits, memory);
  }
  Candidates& candidates = memory.candidates;
  list(logits, counts, memory);
  if (candidates.empty() && memory.forbidden.give_way()) {
    list(logits, counts, memory);
  }
  const auto likeliest = std::ranges::min_element(candidates, kBetter);
  require_finite(likeliest != candidates.end() ? likeliest->score : kNever);
  if (options_.temperature == 0.0) {
    return likeliest->token;
  }
  keep_top_k(candidates);
  weigh(candidates);
  keep_top_p(candidates);
  keep_min_p(candidates);
  return race(candidates, draw.key.derive(draw.position));
}

// What the list of candidates would have first, without making it.
int32_t Sampler::best(std::span<const float> logits, SamplingMemory& memory) const {
  const auto may_take = [&](int32_t token) { return !memory.forbidden.contains(token); };
  int32_t token = best_token(logits, may_take);
  if (token < 0 && memory.forbidden.give_way()) {
    token = best_token(logits, may_take);
  }
  require_finite(token < 0 ? kNever : static_cast<double>(logits[static_cast<size_t>(token)]));
  return token;
}

void Sampler::list(std::span<const float> logits, const TokenCounts& counts, SamplingMemory& memory) const {
  Candidates& candidates = memory.candidates;
  candidates.clear();
  for (size_t token = 0; token < logits.size(); ++token) {
    candidates.push_back({static_cast<int32_t>(token), static_cast<double>(logits[token]), 0.0});
  }
  for (const auto& [token, bias] : options_.logit_bias) {
    if (token >= 0 && token < static_cast<int32_t>(candidates.size())) {
      candidates[static_cast<size_t>(token)].score += bias;
    }
  }
  if (has_penalties_) {
    penalize(counts, candidates);
  }
  for (const int32_t token : memory.forbidden.tokens()) {
    if (token >= 0 && token < static_cast<int32_t>(logits.size())) {
      candidates[static_cast<size_t>(token)].score = kNever;
    }
  }
  if (const TokenSet* const allowed = memory.forbidden.allowed(); allowed != nullptr) {
    for (SamplingCandidate& candidate : candidates) {
      candidate.score = allowed->contains(candidate.token) ? candidate.score : kNever;
    }
  }
  // Drops NaN too.
  std::erase_if(candidates, [](const SamplingCandidate& c) { return !(c.score > kNever); });
}

void Sampler::penalize(const TokenCounts& counts, Candidates& candidates) const {
  for (const auto& [token, written] : counts.written()) {
    if (token < 0 || token >= static_cast<int32_t>(candidates.size())) {
      continue;
    }
    double& score = candidates[static_cast<size_t>(token)].score;
    score = score > 0.0 ? score / options_.repetition_penalty : score * options_.repetition_penalty;
    if (written > 0) {
      score -= options_.presence_penalty + static_cast<double>(written) * options_.frequency_penalty;
    }
  }
}

void Sampler::keep_top_k(Candidates& candidates) const {
  const auto k = static_cast<size_t>(options_.top_k);
  if (k > 0 && k < candidates.size()) {
    std::partial_sort(candidates.begin(), candidates.begin() + options_.top_k, candidates.end(), kBetter);
    candidates.resize(k);
  }
}

void Sampler::weigh(Candidates& candidates) const {
  const double largest = std::ranges::min_element(candidates, kBetter)->score;
  for (SamplingCandidate& candidate : candidates) {
    candidate.weight = std::exp((candidate.score - largest) / options_.temperature);
  }
}

// Sorts only as far as necessary.
void Sampler::keep_top_p(Candidates& candidates) const {
  if (options_.top_p >= 1.0) {
    return;
  }
  double total = 0.0;
  for (const SamplingCandidate& candidate : candidates) {
    total += candidate.weight;
  }
  const double wanted = options_.top_p * total;
  double sum = 0.0;
  size_t kept = 0;
  for (size_t sorted = 0; kept < candidates.size() && sum < wanted; ++kept) {
    if (kept == sorted) {
      const size_t more = std::min(candidates.size(), std::max(kFirstSorted, 4 * sorted));
      std::partial_sort(candidates.begin() + static_cast<int64_t>(sorted),
                        candidates.begin() + static_cast<int64_t>(more), candidates.end(), kBetter);
      sorted = more;
    }
    sum += candidates[kept].weight;
  }
  candidates.resize(std::max<size_t>(1, kept));
}

// The largest weight is 1.
void Sampler::keep_min_p(Candidates& candidates) const {
  if (options_.min_p > 0.0) {
    std::erase_if(candidates, [&](const SamplingCandidate& c) { return c.weight < options_.min_p; });
  }
}

}  // namespace heed
