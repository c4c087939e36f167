// Greedy and beam search.
//   score = (sum of log-probabilities) / length^penalty        length: tokens of the hypothesis, its end included
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decode/sentence_search.h"
#include "decode/speculation.h"
#include "decode/stepper.h"
#include "heed/translation.h"

namespace heed {

constexpr int64_t kMaxBeam = 1024;
constexpr double kMaxLengthPenalty = 10.0;

// Throws ConfigError, with a message that a user can act on.
void validate(const TranslationOptions& options);

// Where a search starts: a sequence of the stepper, which the search removes in the end, and its first tokens, at least
// one.
struct SearchStart {
  SequenceId sequence;
  std::span<const int32_t> tokens;
  int64_t max_length;                    // of a hypothesis, its end included
  std::span<const int32_t> source = {};  // that the model's encoder has read, for drafts
};

// The hypotheses of each start, best first: at most n_best, at least one. FormatError when the model computes NaN. The
// result of a start does not depend on the others. At each step the best 2 * beam continuations of a start are
// considered: those among the first `beam` that end are finished, and the best that do not end go on. A start is done
// when `beam` hypotheses are finished; its sequences then leave the batch. Drafts, which need a beam of 1 and a stepper
// that can roll back kMaxDraftTokens, change none of this.
std::vector<std::vector<Hypothesis>> search(Stepper& stepper, std::span<const SearchStart> starts,
                                            const TranslationOptions& options, const SearchRules& rules = {},
                                            Speculation* speculation = nullptr);

}  // namespace heed
