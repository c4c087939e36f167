// Speculative decoding: drafts for the texts of a step, and what became of them. Search and sampling take the model's
// token after each token of a draft as they would without one, as long as the draft has said the same:
//   rows of the model     after the last token, after draft 0, after draft 1, ...
//   draft i               is right if it is the token that is taken from row i; the row after it then counts too
// For a token that is known before the draw this is the rejection rule: it stays with its probability p, and what is
// taken in its place is drawn from the other tokens in proportion to theirs.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "decode/draft_pace.h"
#include "decode/drafter.h"
#include "decode/lanes.h"

namespace heed {

// The reports of all lanes.
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
  // The log, if there is one, gets the report. `share` is the drafter's, as of DraftPace.
  Speculation(std::unique_ptr<Drafter> drafter, int64_t tokens, DraftLog* log = nullptr, double share = 0.0)
      : drafter_(std::move(drafter)), pace_(tokens, share), log_(log) {}
  ~Speculation();
  Speculation(const Speculation&) = delete;
  Speculation& operator=(const Speculation&) = delete;

  int64_t new_text() { return texts_++; }

  // A step of these texts, which each have one token to read, and of `others`, which have more. After it there is a
  // draft for each task, of at most as many tokens as it wants, until the next step.
  void begin_step(std::span<DraftTask> tasks, int64_t others);
  std::span<const int32_t> draft(size_t task) const { return drafts_[task].tokens; }
  // Of the draft of such a task, `right` tokens were right; `compared` is one more if the next one was wrong.
  void checked(size_t task, int64_t right, int64_t compared);
  void end_step(int64_t written);

  void forget(int64_t text) { drafter_->forget(text); }
  const DraftReport& report() const { return pace_.report(); }
  // Adds to the log what has not been added yet.
  void publish();

 private:
  std::unique_ptr<Drafter> drafter_;
  DraftPace pace_;
  DraftLog* log_;
  DraftReport published_;
  int64_t texts_ = 0;
  std::vector<Draft> drafts_;
  DraftedStep step_;
  bool usual_ = false;  // a step whose time can be compared
  double began_ = 0.0;
};

// What drafts for a model, on any lane.
struct Drafting {
  DraftOptions options;
  const AnyModel* model = nullptr;  // that drafts, where one does
  DraftLog& log;
  double share = 0.0;  // of a drafter's step in the time of the model's, about
};

// Null without drafts. `target` is the model whose texts are drafted.
std::unique_ptr<Speculation> make_speculation(const Drafting* drafting, const Inference& target,
                                              SourceVocabulary source);

// Of a stepper of the target, whose drafts must be able to be rolled back.
inline StepperOptions stepper_options(const Drafting* drafting) {
  return {.roll_back = drafting == nullptr ? 0 : kMaxDraftTokens};
}

// ConfigError unless the options make sense for a model of so many layers in its decoder.
void validate(const DraftOptions& options, int64_t layers);

}  // namespace heed
