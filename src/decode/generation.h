// Generating texts token by token, with continuous batching: texts join and leave the batch between steps.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "decode/sampling.h"
#include "decode/speculation.h"
#include "decode/stepper.h"

namespace heed {

// A prompt, to be continued by `samples` texts.
struct GenerationTask {
  size_t number;                    // the caller's
  std::span<const int32_t> prompt;  // 1 to Stepper::max_length() tokens
  int64_t samples = 1;
};

// Where tasks come from and where tokens go.
class GenerationClient {
 public:
  virtual ~GenerationClient() = default;
  virtual std::optional<GenerationTask> take_task() = 0;

  // A token of a text, and its log-probability under the model's unmodified logits. Returns whether the text goes on.
  enum class Verdict : uint8_t { go_on, ended };
  struct Written {
    size_t task;
    int64_t sample;
    int32_t token;
    double log_probability;
    int64_t drafted, accepted;  // of the text's tokens so far: see DraftReport
  };
  virtual Verdict take_token(const Written& written) = 0;
};

struct GenerationRules {
  SamplingOptions sampling;
  std::vector<int32_t> suppressed;  // tokens that are never generated
  int64_t max_texts = 64;           // at once, or more where one task has more
};

// Takes tasks until there are none and all texts have ended. Draws depend only on the seed, the prompt, the number of
// the sample and the token's position. When a text has as many tokens as the model takes, it goes on from the last half
// of them. Drafts change none of this; the stepper must be able to roll back kMaxDraftTokens.
void generate(Stepper& stepper, const GenerationRules& rules, GenerationClient& client,
              Speculation* speculation = nullptr);

}  // namespace heed
