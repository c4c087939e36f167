// Draws the next token from a model's logits; see SamplingOptions for how.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "heed/generation.h"

namespace heed {

// Throws ConfigError, with a message that a user can act on.
void validate(const SamplingOptions& options);

// How often each token of a text was generated so far. A token that occurs only in the prompt counts 0.
class TokenCounts {
 public:
  void add_prompt(std::span<const int32_t> tokens) {
    for (const int32_t token : tokens) {
      written_.try_emplace(token, 0);
    }
  }
  void add_written(int32_t token) { ++written_[token]; }
  const std::unordered_map<int32_t, int64_t>& written() const { return written_; }

 private:
  std::unordered_map<int32_t, int64_t> written_;
};

// Identifies one draw. Similar distributions draw the same token with it most of the time.
struct Draw {
  RandomKey key;      // of the text
  uint64_t position;  // of the token in it
};

// A token that may be drawn.
struct SamplingCandidate {
  int32_t token;
  double score;   // a logit after the penalties
  double weight;  // proportional to its probability
};

// What sampling needs for a moment: kept by whoever samples again and again, so that it is not allocated each time.
using SamplingMemory = std::vector<SamplingCandidate>;

// May be used by several threads at once.
class Sampler {
 public:
  // The options must be valid. Tokens in `suppressed` are never drawn.
  Sampler(const SamplingOptions& options, std::vector<int32_t> suppressed);

  bool has_penalties() const { return has_penalties_; }

  // FormatError when no logit is a finite number.
  int32_t sample(std::span<const float> logits, const TokenCounts& counts, const Draw& draw,
                 SamplingMemory& candidates) const;

 private:
  // Candidates are sorted, best first, once any have been left out.
  void list(std::span<const float> logits, const TokenCounts& counts, SamplingMemory& candidates) const;
  void penalize(const TokenCounts& counts, SamplingMemory& candidates) const;
  void keep_top_k(SamplingMemory& candidates) const;
  void weigh(SamplingMemory& candidates) const;
  void keep_top_p(SamplingMemory& candidates) const;
  void keep_min_p(SamplingMemory& candidates) const;

  SamplingOptions options_;
  std::vector<int32_t> suppressed_;
  bool has_penalties_;
};

}  // namespace heed
