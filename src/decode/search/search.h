// Greedy and beam search.
//   score = (sum of log-probabilities) / length^penalty        length: tokens of the hypothesis, its end included
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "decode/scheduling/drafted_sequence.h"
#include "decode/search/group_search.h"

namespace heed {

constexpr int64_t kMaxBeam = 1024;
constexpr double kMaxLengthPenalty = 10.0;

// Throws ConfigError, with a message that a user can act on.
void validate(const TranslationOptions& options);

// Learns how a search goes on, from the thread that takes its steps.
class SearchListener {
 public:
  virtual ~SearchListener() = default;
  // With a width of 1: the hypothesis has another token, and does not end with it.
  virtual void on_growth(const SentenceSearch::Growing& /*hypothesis*/) {}
  // Where the search is noted: what it has considered since the last call.
  virtual void on_steps(const BeamSteps& /*steps*/) {}
  // The search has ended: what results() would return, which is not to be called then, and how many of the tokens that
  // it began with were read for others: see Stepper::copied_tokens().
  virtual void on_results(std::vector<Hypothesis> results, int64_t copied) = 0;
};

// The hypotheses of a source or a prompt; see GroupSearch. Drafts change none of them; they serve a beam of 1 and need
// a stepper that can roll back kMaxDraftTokens.
class SearchRequest final : public Request {
 public:
  // What the task refers to, the options, the rules, `greedy` and the listener must outlive it. `greedy` draws the
  // tokens of drafts; it must not draw what the rules suppress.
  SearchRequest(const SearchTask& task, const TranslationOptions& options, const SearchRules& rules,
                const Sampler& greedy, SearchListener* listener = nullptr);

  std::span<const int32_t> source() const override { return task_.source; }
  std::span<const int32_t> candidates() const override { return task_.candidates; }
  int64_t expected_tokens(int64_t cached) const override;
  int64_t max_sequences() const override { return width_; }
  void begin(const StepContext& context, SequenceId sequence) override;
  void add_drafts(std::vector<DraftTask>& tasks) override;
  void add_new_tokens(std::vector<NewTokens>& new_tokens) override;
  int64_t take(const NextTokens& next, int64_t first_row) override;
  bool done() const override { return search_.active() == 0; }
  void leave() override;
  void interrupt(Interrupted why) override { interrupted_ = why; }

  Interrupted interrupted() const { return interrupted_; }
  // When the model had read what it begins with.
  std::chrono::steady_clock::time_point first_token() const { return first_token_; }
  // Best first: at most n_best, or with a coverage penalty, which may change their order, all; at least one unless it
  // was interrupted. To be called once.
  std::vector<Hypothesis> results();

 private:
  // Tokens of the only hypothesis, its prefix included.
  uint64_t written() const {
    return single_->tokens().size() + static_cast<size_t>(task_.prefix) - task_.tokens.size();
  }
  int64_t advance(const NextTokens& next, int64_t first_row);
  void tell();
  int64_t take_greedily(const NextTokens& next, int64_t first_row);
  void replace(const std::vector<int64_t>& parent_of_child);

  SearchTask task_;
  const TranslationOptions& options_;
  int64_t width_, apart_;  // hypotheses at once, and how many of them have hardly any token in common
  int32_t end_;
  const Sampler& greedy_;
  SearchListener* listener_;
  GroupSearch search_;
  Stepper* stepper_ = nullptr;
  Interrupted interrupted_ = Interrupted::no;
  bool has_read_ = false;  // the first tokens
  int64_t copied_ = 0;     // of these
  std::chrono::steady_clock::time_point first_token_;
  int64_t length_;                         // of the hypotheses that go on, with what they continue
  std::optional<DraftedSequence> single_;  // with a width of 1
  // Otherwise the hypotheses' sequences, in the order of their ranks.
  std::vector<SequenceId> sequences_, going_on_;
  const TokenCounts no_counts_;
};

// InterruptedError if it was interrupted.
void require_finished(const SearchRequest& search);

}  // namespace heed
