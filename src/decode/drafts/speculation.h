// Speculative decoding: drafts for the texts of a step, and what became of them. Search and sampling choose a token
// from each row of the model as they would without drafts, as long as the draft has the same tokens:
//   row 0 follows the text's last token, row i + 1 follows draft token i
//   draft token i is right if it is the token chosen from row i; then row i + 1 counts too
// For a draft token that is known before the draw this is the rejection rule: the token stays with its probability p,
// and otherwise its replacement is drawn from the other tokens in proportion to their probabilities.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "decode/drafts/draft_length_policy.h"
#include "decode/drafts/drafter.h"
#include "kernels/lanes.h"

namespace heed {

// The sum of all workers' reports.
class DraftLog {
 public:
  void add(const DraftReport& more);
  DraftReport report() const;

 private:
  mutable std::mutex mutex_;
  DraftReport report_;
};

class Speculation {
 public:
  // The log, if there is one, gets the report. `share` is the drafter's, as of DraftLengthPolicy.
  Speculation(std::unique_ptr<Drafter> drafter, int64_t tokens, DraftLog* log = nullptr, double share = 0.0)
      : drafter_(std::move(drafter)), policy_(tokens, share), log_(log) {}
  ~Speculation();
  Speculation(const Speculation&) = delete;
  Speculation& operator=(const Speculation&) = delete;

  int64_t new_text() { return texts_++; }

  // Drafts for a step of these texts, which have one token each to read, and of `others`, which have more. Each task
  // then has a draft of at most as many tokens as it wants, until the next step.
  void begin_step(std::span<DraftTask> tasks, int64_t others);
  std::span<const int32_t> draft(size_t task) const { return drafts_[task].tokens; }
  // `right` tokens of the task's draft were right; `compared` is one more if the next one was wrong.
  void checked(size_t task, int64_t right, int64_t compared);
  void end_step(int64_t written);

  void forget(int64_t text) { drafter_->forget(text); }
  const DraftReport& report() const { return policy_.report(); }
  // Adds to the log what has not been added yet.
  void publish();

 private:
  std::unique_ptr<Drafter> drafter_;
  DraftLengthPolicy policy_;
  DraftLog* log_;
  DraftReport published_;
  int64_t texts_ = 0;
  std::vector<Draft> drafts_;
  DraftedStep step_;
  bool usual_ = false;  // whether the step has no other texts, so that its time can be compared
  double began_ = 0.0;
};

// What drafts for a model, on any lane.
struct Drafting {
  DraftOptions options;
  const AnyModel* model = nullptr;  // that drafts, where another model does
  DraftLog& log;
  double share = 0.0;  // about the time of a drafter's step over that of the model's
};

// Null without drafts. `target` is the model whose texts are drafted.
std::unique_ptr<Speculation> make_speculation(const Drafting* drafting, const Inference& target,
                                              SourceVocabulary source);

// For the target's stepper, which must be able to roll drafts back.
inline StepperOptions stepper_options(const Drafting* drafting) {
  return {.roll_back = drafting == nullptr ? 0 : kMaxDraftTokens};
}

// ConfigError unless the options make sense for a model with this many layers in its decoder.
void validate(const DraftOptions& options, int64_t layers);

}  // namespace heed
