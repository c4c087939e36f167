// Generating texts token by token.
#pragma once

#include <list>
#include <optional>

#include "decode/sampling/likeliest_tokens.h"
#include "decode/sampling/sampling.h"
#include "decode/scheduling/drafted_sequence.h"

namespace heed {

// Where the tokens of a prompt's texts go.
class TextWriter {
 public:
  virtual ~TextWriter() = default;

  struct Written {
    int64_t sample;
    int32_t token;
    double log_probability;                       // of the token, under the model's unmodified logits
    int64_t drafted, accepted;                    // of the text's tokens so far: see DraftReport
    int64_t copied;                               // of the prompt's tokens: see Stepper::copied_tokens()
    std::span<const RankedToken> likeliest = {};  // as many as the task asks for
  };
  enum class Verdict : uint8_t { go_on, ended };
  // Takes a token of a text, and says whether the text goes on.
  virtual Verdict take_token(const Written& written) = 0;
  // The texts that have not ended end here.
  virtual void interrupt(Interrupted why) = 0;
};

struct GenerationTask {
  std::span<const int32_t> prompt;  // 1 to Stepper::max_length() tokens
  int64_t samples = 1;              // texts that continue it
  const Sampler& sampler;
  uint64_t seed = 0;
  int64_t likeliest = 0;  // tokens that the writer is told of with each
};

// Draws depend only on the seed, the prompt, the number of the sample and the token's position. When a text has as many
// tokens as the model takes, it goes on from the last half of them. Drafts change none of this; with them, the stepper
// must be able to roll back kMaxDraftTokens.
class GenerationRequest final : public Request {
 public:
  // What the task refers to and the writer must outlive it.
  GenerationRequest(const GenerationTask& task, TextWriter& writer) : task_(task), writer_(writer) {}

  std::span<const int32_t> source() const override { return {}; }
  int64_t max_sequences() const override { return task_.samples; }
  int64_t sequences() const override;
  void begin(const StepContext& context, SequenceId sequence) override;
  void add_drafts(std::vector<DraftTask>& tasks) override;
  void add_new_tokens(std::vector<NewTokens>& new_tokens) override;
  int64_t take(const NextTokens& next, int64_t first_row) override;
  bool done() const override { return texts_.empty(); }
  void leave() override;
  void interrupt(Interrupted why) override { writer_.interrupt(why); }

 private:
  struct Text {
    DraftedSequence sequence;
    int64_t sample, samples_to_fork;
    int64_t written = 0;
    TokenCounts counts;
    RandomKey key;
    AutomatonWalk walk = {};
  };

  int64_t write(std::list<Text>::iterator text, const NextTokens& next, int64_t row);

  GenerationTask task_;
  TextWriter& writer_;
  SamplingMemory* memory_ = nullptr;
  RandomKey key_;                  // of all draws that continue the prompt
  std::optional<int64_t> copied_;  // of the prompt's tokens, when it has been read
  std::list<Text> texts_;
};

}  // namespace heed
