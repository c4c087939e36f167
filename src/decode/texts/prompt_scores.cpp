#include "decode/texts/prompt_scores.h"

#include <algorithm>
#include <deque>
#include <limits>

#include "decode/texts/scored_tokens.h"
#include "text/token_ids.h"

namespace heed {
namespace {

// A row over the vocabulary is held for each token of a step, as for each sequence that is written.
constexpr size_t kTokensOfStep = 32;

// Reads a prompt, and keeps what the model finds likely in the place of each token.
class PromptScoring final : public Request {
 public:
  PromptScoring(std::vector<int32_t> prompt, int64_t likeliest)
      : prompt_(std::move(prompt)), wanted_(likeliest), scores_(prompt_.size()), likeliest_(prompt_.size()) {}

  std::span<const int32_t> source() const override { return {}; }
  int64_t expected_tokens(int64_t cached) const override { return std::min(std::ssize(prompt_), cached); }
  int64_t max_sequences() const override { return static_cast<int64_t>(kTokensOfStep); }
  void begin(const StepContext& context, SequenceId sequence) override {
    stepper_ = &context.stepper;
    sequence_ = sequence;
  }
  void add_drafts(std::vector<DraftTask>& /*tasks*/) override {}
  void add_new_tokens(std::vector<NewTokens>& new_tokens) override {
    new_tokens.push_back({sequence_, part(), RowsWanted::all, ScoresWanted::log_probs});
  }
  int64_t take(const NextTokens& next, int64_t first_row) override;
  bool done() const override { return read_ == predicting(); }
  void leave() override {
    if (stepper_ != nullptr) {
      std::exchange(stepper_, nullptr)->remove(sequence_);
    }
  }
  void interrupt(Interrupted why) override { interrupted_ = why; }

  const std::vector<int32_t>& prompt() const { return prompt_; }
  // InterruptedError where it was interrupted.
  void require_scored() const { require_uninterrupted(interrupted_, "scores of a prompt"); }
  RankedToken token(size_t i) const { return {prompt_[i], scores_[i]}; }
  std::span<const RankedToken> likeliest(size_t i) const { return likeliest_[i]; }

 private:
  size_t predicting() const { return prompt_.size() - 1; }  // all but the last one have a next one
  std::span<const int32_t> part() const {
    return std::span(prompt_).subspan(read_, std::min(kTokensOfStep, predicting() - read_));
  }

  std::vector<int32_t> prompt_;
  int64_t wanted_;
  std::vector<float> scores_;
  std::vector<std::vector<RankedToken>> likeliest_;
  size_t read_ = 0;
  Stepper* stepper_ = nullptr;
  SequenceId sequence_{-1};
  Interrupted interrupted_ = Interrupted::no;
};

int64_t PromptScoring::take(const NextTokens& next, int64_t first_row) {
  for (int64_t row = first_row, tokens = std::ssize(part()); tokens > 0; --tokens, ++row) {
    ++read_;
    scores_[read_] = next.log_probs(row, prompt_[read_]);
    likeliest_[read_] = likeliest_tokens(next.log_probs.row(row), next.log_probs.columns, RowTokens(), wanted_);
  }
  if (done()) {
    leave();
  }
  return 0;
}

// The tokens of the prompt's text: not those that were put before it.
std::vector<ScoredToken> scored_text(const TextGenerator& generator, const PromptScoring& scoring, int64_t added) {
  TextStream stream(generator.tokenizer, {}, {});
  std::vector<ScoredToken> tokens;
  tokens.reserve(scoring.prompt().size());
  for (auto i = static_cast<size_t>(added); i < scoring.prompt().size(); ++i) {
    tokens.push_back(scored(generator.tokenizer, {scoring.token(i), stream.length(), scoring.likeliest(i)}));
    stream.add(TokenId(scoring.prompt()[i]));
  }
  return tokens;
}

}  // namespace

std::vector<std::vector<ScoredToken>> score_prompts(const TextGenerator& generator,
                                                    std::span<const std::string> prompts,
                                                    const GenerationOptions& options,
                                                    const std::function<std::string(size_t)>& where) {
  validate_likeliest(options.likeliest, EachToken::listed, "generation");
  std::deque<PromptScoring> scorings;
  std::vector<int64_t> added;
  std::vector<Request*> requests;
  for (size_t i = 0; i < prompts.size(); ++i) {
    PromptTokens read = prompt_tokens(generator, prompts[i], options, where(i));
    added.push_back(read.added);
    PromptScoring& scoring = scorings.emplace_back(ids_of(read.tokens), options.likeliest);
    if (!scoring.done()) {
      requests.push_back(&scoring);
    }
  }
  generator.scheduler.run(requests, options.interruption, options.sharing);
  std::vector<std::vector<ScoredToken>> scores;
  scores.reserve(prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    scorings[i].require_scored();
    scores.push_back(scored_text(generator, scorings[i], added[i]));
  }
  return scores;
}

}  // namespace heed
