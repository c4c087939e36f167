// A sequence that a text is written to, token by token or, with drafts, several at a step.
#pragma once

#include <algorithm>
#include <optional>

#include "decode/scheduling/request.h"

namespace heed {

class DraftedSequence {
 public:
  // `tokens` is what it begins with, at least one.
  DraftedSequence(const StepContext& context, SequenceId sequence, std::span<const int32_t> tokens);

  const std::vector<int32_t>& tokens() const { return tokens_; }
  int64_t drafted() const { return drafted_; }    // tokens so far
  int64_t accepted() const { return accepted_; }  // of them
  int64_t copied() const { return context_.stepper.copied_tokens(sequence_); }

  // Before a step: a sequence that is as long as the model takes begins again with its last half, as if nothing came
  // before.
  void begin_step();
  // Its members are those of DraftTask.
  struct DraftRequest {
    std::span<const int32_t> source;
    const TokenCounts& counts;
    const Sampler& sampler;
    Draw draw;
    int64_t most;
    AutomatonWalk walk = {};
  };
  // Adds a task after begin_step(), unless the text has more than one token to read: then it gets no draft.
  void request_draft(const DraftRequest& request, std::vector<DraftTask>& tasks);
  // What it reads: its unread tokens, and its draft if there is one; then all rows are wanted, and otherwise `wanted`.
  NewTokens new_tokens(RowsWanted wanted = RowsWanted::last);

  // After the step: the draft is no longer among the tokens.
  void end_step();
  int64_t rows() const { return static_cast<int64_t>(draft().size()) + 1; }
  // Another one that has read the same.
  DraftedSequence fork() const;
  // Chooses tokens with choose(row): one from the row that follows the text, then, as long as the draft has the same
  // tokens, from the rows that follow these. add(row, token) says whether the text goes on. Returns the number of
  // tokens. When the text ends, the sequence leaves.
  template <class Choose, class Add>
  int64_t write(int64_t row, const Choose& choose, const Add& add);

  void leave();

 private:
  std::span<const int32_t> draft() const;
  void drop_last(int64_t tokens);  // that the model has read

  StepContext context_;
  SequenceId sequence_;
  std::vector<int32_t> tokens_;
  size_t read_ = 0;             // how many of them the model has read
  int64_t text_ = 0;            // the drafter's number for it
  std::optional<size_t> task_;  // which of the step's drafts is its own
  int64_t drafted_ = 0, accepted_ = 0;
};

template <class Choose, class Add>
int64_t DraftedSequence::write(int64_t row, const Choose& choose, const Add& add) {
  const auto drafted = static_cast<int64_t>(draft().size());
  drafted_ += drafted;
  int64_t right = 0, written = 0;
  bool is_right = true, goes_on = true;
  for (; is_right && goes_on; ++written) {
    const int32_t token = choose(row + written);
    is_right = written < drafted && token == draft()[static_cast<size_t>(written)];
    right += is_right ? 1 : 0;
    accepted_ += is_right ? 1 : 0;
    tokens_.push_back(token);
    goes_on = add(row + written, token);
  }
  if (drafted > 0) {
    context_.speculation->checked(*task_, right, std::min(written, drafted));
  }
  if (goes_on) {
    drop_last(drafted - right);
    read_ += static_cast<size_t>(right);
  } else {
    leave();
  }
  return written;
}

}  // namespace heed
