#include "cli/options/sampling_options.h"

namespace heed::cli {

std::vector<Option> sampling_options(SamplingOptions& sampling) {
  return {option("--temperature T", sampling.temperature,
                 "divides the logits before the softmax; 0: always take the most likely token"),
          option("--top-k N", sampling.top_k, "draw from the N most likely tokens; 0: from all"),
          option("--top-p P", sampling.top_p, "draw from the smallest set of tokens whose probability reaches P"),
          option("--min-p P", sampling.min_p, "draw from tokens at least P times as likely as the most likely one"),
          option("--repetition-penalty A", sampling.repetition_penalty,
                 "divide positive logits of tokens already in the text by A, multiply negative ones"),
          option("--presence-penalty A", sampling.presence_penalty,
                 "subtract A from the logits of tokens already generated"),
          option("--frequency-penalty A", sampling.frequency_penalty,
                 "subtract A from a token's logit for each time it was generated"),
          option("--seed N", sampling.seed, "random seed; the same seed and prompt give the same text")};
}

}  // namespace heed::cli
