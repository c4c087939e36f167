// Draws the next token from a model's logits; see SamplingOptions for how.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "decode/rules/token_rules.h"
#include "heed/types/writing/generation.h"

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
  uint64_t position;  // of the token in it, the prompt not counted
};

// A token that may be drawn.
struct SamplingCandidate {
  int32_t token;
  double score;   // a logit after the penalties
  double weight;  // proportional to its probability
};

// Memory that sample() works in: the caller keeps it, so that it is not allocated for each token.
struct SamplingMemory {
  std::vector<SamplingCandidate> candidates;
  ForbiddenTokens forbidden;
};

// What rules look at.
struct WrittenText {
  std::span<const int32_t> tokens = {};  // the prompt and what was written
  AutomatonWalk* walk = nullptr;         // the text's own; null: the automaton reads the text from its beginning
};

// May be used by several threads at once.
class Sampler {
 public:
  // The options must be valid. `max_length` is that of RuledText.
  Sampler(const SamplingOptions& options, TokenRules rules, int64_t max_length = 0);

  bool has_penalties() const { return has_penalties_; }
  bool looks_at_text() const { return rules_.look_at_text(); }

  // `text` may be missing unless looks_at_text(). FormatError when no logit is a finite number.
  int32_t sample(std::span<const float> logits, const TokenCounts& counts, const Draw& draw, SamplingMemory& memory,
                 const WrittenText& text = {}) const;

 private:
  // Sorted, best first, by each step that leaves some of them out.
  using Candidates = std::vector<SamplingCandidate>;

  int32_t best(std::span<const float> logits, SamplingMemory& memory) const;
  void list(std::span<const float> logits, const TokenCounts& counts, SamplingMemory& memory) const;
  void penalize(const TokenCounts& counts, Candidates& candidates) const;
  void keep_top_k(Candidates& candidates) const;
  void weigh(Candidates& candidates) const;
  void keep_top_p(Candidates& candidates) const;
  void keep_min_p(Candidates& candidates) const;

  SamplingOptions options_;
  TokenRules rules_;
  int64_t max_length_;
  bool has_biases_, has_penalties_;
};

}  // namespace heed
