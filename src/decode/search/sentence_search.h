// One search: its hypotheses, from step to step. It knows rows of log-probabilities, not models.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "decode/rules/forced_phrases.h"
#include "decode/rules/token_rules.h"
#include "decode/sampling/likeliest_tokens.h"
#include "decode/search/beam_recorder.h"
#include "decode/steppers/row_tokens.h"
#include "decode/steppers/stepper.h"
#include "heed/types/writing/translation.h"
#include "text/model_marks.h"

namespace heed {

// What a search needs to know about the model's tokens.
struct SearchRules {
  AtLimit at_limit = AtLimit::end;
  int32_t bos = 2;
  int64_t certain = 0;  // tokens after bos that every text has; they count with a probability of 1
  TokenRules tokens = {};
  ForcedPhrases forced = {};  // the beam must be larger than the number of their tokens
};

struct SearchTask {
  std::span<const int32_t> source;  // that the model's encoder reads; empty without one
  std::span<const int32_t> tokens;  // that hypotheses continue, at least one
  int64_t max_length;               // of a hypothesis, its end included
  // How many of the last tokens belong to the hypotheses, so that their probabilities count.
  int64_t prefix = 0;
  // The only tokens that hypotheses may have, ascending; the end, the prefix and the forced phrases must be among them.
  // None: hypotheses may have all tokens.
  std::span<const int32_t> candidates = {};
  BeamRecorder* recorder = nullptr;  // notes the search, where it is wanted
};

// The likeliest tokens of a position, which several hypotheses share.
using SharedRanking = std::shared_ptr<const std::vector<RankedToken>>;

struct Hypothesis {
  std::vector<int32_t> tokens;                 // without bos and eos
  std::vector<float> token_log_probabilities;  // of these, and of the end unless it is cut off
  double log_probability = 0.0;
  double score = 0.0;
  bool cut_off = false;                       // it has no end; see AtLimit
  std::vector<SharedRanking> likeliest = {};  // where asked for: one for each of the log-probabilities
  std::optional<BeamPlace> place = {};        // where the recorder noted its end
};

// At each step the best 2 * beam continuations are considered: those among the first `beam` that end are finished, and
// the best that do not end go on. See EarlyStopping for when the search is done.
//
// With forced phrases (dynamic beam allocation), each hypothesis is also continued by every token that leads on in a
// phrase. Continuations that have met the same number of the phrases' tokens form a bank, and the banks take turns in
// choosing the hypotheses that go on, the one that has met the most first. A hypothesis ends only when it contains all
// phrases, and one that has no room left for the missing ones is dropped.
class SentenceSearch {
 public:
  // What the task refers to, the options and the rules must outlive it. `beam` takes the place of the options' own, and
  // `number` is that of the group among those of a sentence. The caller begins the recorder's steps.
  struct Group {
    int64_t beam, number = 0;
  };
  SentenceSearch(const TranslationOptions& options, const SearchRules& rules, const SearchTask& task,
                 const Group& group);

  int64_t active() const { return static_cast<int64_t>(active_.size()); }  // 0: it is done
  // The walk of the only hypothesis.
  const AutomatonWalk& walk() const { return active_.front().walk; }
  std::span<const int32_t> last_token(int64_t hypothesis) const {
    return std::span(active_[static_cast<size_t>(hypothesis)].tokens).last(1);
  }
  // Rows that can be taken after the next one, at most.
  int64_t further_rows() const { return max_length_ - 1 - static_cast<int64_t>(active_.front().tokens.size()); }

  // After which of the task's tokens it needs a row.
  RowsWanted wanted() const { return prefix_.empty() ? RowsWanted::last : RowsWanted::all; }
  // To be called before the first advance(). `first_row` is that of the token before the prefix; returns that of the
  // last token.
  int64_t take_prefix(const HostView<float>& log_probs, int64_t first_row);
  // Takes one row of log-probabilities for each active hypothesis. Returns the parents of the new active ones. For each
  // time that a token is in `avoided`, the continuation by it ranks lower by the options' diversity. FormatError when
  // the rows are NaN.
  std::vector<int64_t> advance(const HostView<float>& log_probs, int64_t first_row,
                               std::span<const int32_t> avoided = {});
  // Instead of the first advance(): `count` searches or fewer, one from each of the best next tokens, which may be the
  // end.
  std::vector<SentenceSearch> branches(const HostView<float>& log_probs, int64_t row, int64_t count);

  // What the only hypothesis has so far.
  struct Growing {
    std::span<const int32_t> tokens;
    std::span<const float> token_log_probabilities;
    std::span<const SharedRanking> likeliest;
  };
  Growing growing() const {
    return {active_.front().tokens, active_.front().token_log_probabilities, active_.front().likeliest};
  }

  // In no order; at least one. To be called once.
  std::vector<Hypothesis> finished() { return std::move(ended_); }

 private:
  struct Partial {
    std::vector<int32_t> tokens;
    std::vector<float> token_log_probabilities;
    double log_probability = 0.0;
    AutomatonWalk walk = {};
    std::vector<SharedRanking> likeliest = {};
    std::optional<BeamPlace> place = {};

    void add(int32_t token, float token_log_probability, const SharedRanking& its_likeliest);
  };
  struct NextToken {
    int64_t parent;  // which of the hypotheses
    int32_t token;
    double log_probability;  // of the whole hypothesis, less what the token costs
    float token_log_probability;
  };
  class Best;

  bool is_done(const std::vector<Partial>& going_on) const;
  bool is_at_the_end() const { return static_cast<int64_t>(active_.front().tokens.size()) + 1 >= max_length_; }
  // The likeliest tokens of the row that a hypothesis is continued from; null where nobody asks.
  SharedRanking likeliest_of(const HostView<float>& log_probs, int64_t row) const;
  std::vector<SharedRanking> likeliest_of_all(const HostView<float>& log_probs, int64_t first_row) const;
  std::optional<BeamPlace> note(const NextToken& token, BeamFate fate) const;
  void end(const Partial& parent, const NextToken& last, const SharedRanking& likeliest);
  void set_aside(std::vector<Partial> cut_off);
  double score(double log_probability, size_t length) const;
  Best best_continuations(const HostView<float>& log_probs, int64_t first_row, int64_t count);
  void forbid(int64_t hypothesis);
  std::vector<NextToken> forced_continuations(const HostView<float>& log_probs, int64_t first_row);
  void offer_forced(const float* row, int64_t columns, int64_t hypothesis, std::vector<std::vector<NextToken>>& banks);
  std::vector<NextToken> best_of_row(const float* row, int64_t columns, int64_t hypothesis) const;
  static void sort(std::vector<NextToken>& candidates);  // best first
  std::vector<NextToken> by_turns(const std::vector<std::vector<NextToken>>& banks) const;
  void offer_row(const float* row, int64_t columns, int64_t hypothesis, Best& best) const;
  // The hypothesis's row, with the penalty for repetition.
  const float* row_of(const HostView<float>& log_probs, int64_t first_row, int64_t hypothesis);
  bool has_token(int64_t hypothesis, int32_t token) const;
  Best best_ends(const HostView<float>& log_probs, int64_t first_row) const;

  void require_any(bool any, const HostView<float>& log_probs, int64_t row) const;

  const TranslationOptions* options_;
  const SearchRules* rules_;
  RowTokens row_tokens_;
  int64_t beam_, group_, max_length_;
  BeamRecorder* recorder_;
  std::span<const int32_t> prompt_, prefix_;  // the prefix until it is taken
  std::vector<int32_t> text_;                 // a hypothesis and its prompt, where rules look at them
  ForbiddenTokens forbidden_;
  std::vector<float> penalized_row_;
  std::span<const int32_t> avoided_;  // in this step
  std::vector<Partial> active_;
  std::vector<Hypothesis> ended_;
};

}  // namespace heed
