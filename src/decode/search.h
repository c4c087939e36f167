// Greedy and beam search.
//   score = (sum of log-probabilities) / length^penalty        length: tokens of the hypothesis, its end included
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decode/stepper.h"
#include "heed/translation.h"

namespace heed {

// What happens to a hypothesis that reaches its maximum length: it is ended there, whatever that costs, or stays cut off.
enum class AtMaxLength : uint8_t { end, cut };

// Throws ConfigError with what a person can act on.
void validate(const TranslationOptions& options);

// What a search knows of the model's tokens.
struct SearchRules {
  AtMaxLength at_max_length = AtMaxLength::end;
  int32_t bos = 2, eos = 3;
  std::vector<int32_t> never;  // tokens that no hypothesis may hold, such as padding
};

struct Hypothesis {
  std::vector<int32_t> tokens;  // without bos and eos
  double log_probability = 0.0;
  double score = 0.0;
  bool cut_off = false;  // it has no end; see AtMaxLength
};

// What a search begins with: a sequence of the stepper, which it removes in the end, and the tokens that it reads first,
// at least one.
struct SearchStart {
  SequenceId sequence;
  std::span<const int32_t> tokens;
  int64_t max_length;  // of a hypothesis, its end included
};

// For each start its hypotheses, best first: at most n_best, at least one. FormatError where the model gives no numbers.
// What is found does not depend on the other starts. At each step the best 2 * beam continuations of a start are looked
// at: those among the first `beam` that end are set aside, the best that do not end go on. A start is done when `beam`
// hypotheses have ended; its sequences then leave the batch. What reaches the maximum length is ended there, whatever
// that costs.
std::vector<std::vector<Hypothesis>> search(Stepper& stepper, std::span<const SearchStart> starts,
                                            const TranslationOptions& options, const SearchRules& rules = {});

}  // namespace heed
