// How many tokens are worth drafting, from what was right so far and how long it took.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "heed/types/writing/drafting.h"

namespace heed {

// Where a drafted token comes from.
enum class Guess : uint8_t { from_text, by_model };

// A step of the model, in which each text had a token to read and perhaps a draft to check.
struct DraftedStep {
  int64_t texts = 0;
  int64_t written = 0;                        // tokens
  int64_t drafted = 0, accepted = 0;          // tokens that were checked, and those of them that were right
  int64_t drafter_steps = 0;                  // one after the other
  int64_t drafting = 0;                       // texts that the drafter read and drafted tokens for
  int64_t caught_up = 0;                      // tokens of theirs that it read before it drafted any
  int64_t afforded = 0;                       // of these, those of texts with more than DraftLengthPolicy::kCheapToRead
  double draft_seconds = 0.0, seconds = 0.0;  // of drafting, and of the model's step
};

// The time of a step is modelled as
//   plain(texts) + drafter_steps * draft + drafted * row
// whose parts are measured. Where `rate` tokens per second are being written and a token is right, together with all
// tokens before it in its draft, with probability c, checking it pays if c > rate * row, and drafting one more if
// c > rate * (row + draft). When drafts have cost more time than they saved, by two steps and the time spent on reading
// whole texts, they pause until the loss is a small share of the time. The time that they saved since the last pause
// may be spent on reading whole texts, where the drafter has only read their ends.
class DraftLengthPolicy {
 public:
  // 0: as many tokens as pay; otherwise always this many. `share` is about the time of a drafter's step over that of
  // the model's: where a trial takes long, it waits until it is a small share of the time.
  explicit DraftLengthPolicy(int64_t tokens, double share = 0.0);

  // Before a step of this many texts: the most tokens to draft for each. 0: the step shows how long one without drafts
  // takes, or drafts do not pay.
  int64_t next_most(int64_t texts);

  // In that step: whether it pays to check a token that is right, together with all tokens before it, with this
  // probability.
  bool worth_checking(double chance) const { return !chooses() || pays(chance, row_seconds()); }
  // Whether it then pays to draft one more.
  bool worth_another(double chance) const;

  // Whether drafts are on trial, to learn what they cost and save; a drafter that takes time then drafts for one text
  // only.
  bool is_trial() const { return fixed_ == 0 && probes_ > 0; }
  static constexpr int64_t kCheapToRead = 48;  // tokens
  // Whether drafts have saved the time that reading this many tokens takes.
  bool can_afford_reading(int64_t tokens) const;

  // How often tokens of this confidence, 0 to 1, were right.
  double chance(Guess guess, double confidence) const;
  // For a token that was checked, when all before it in its draft were right.
  enum class Checked : uint8_t { right, wrong };
  void learn(Guess guess, double confidence, Checked checked);
  void add(const DraftedStep& step);

  const DraftReport& report() const { return report_; }

 private:
  // A quotient of two sums in which the latest terms count most.
  struct Quotient {
    double above = 0.0, below = 0.0;

    void add(double more_above, double more_below) {
      above = 0.9 * above + more_above;
      below = 0.9 * below + more_below;
    }
    double value() const { return below == 0.0 ? 0.0 : above / below; }
  };

  // The median of the latest few. Times are never averaged: a step that another process interrupted says nothing.
  class Median {
   public:
    void add(double value) { latest_[count_++ % kKept] = value; }
    size_t count() const { return count_; }
    double value() const;

   private:
    static constexpr size_t kKept = 9;
    std::array<double, kKept> latest_{};
    size_t count_ = 0;
  };

  static constexpr size_t kClasses = 10;

  bool pays(double chance, double seconds) const;
  double row_seconds() const;
  bool chooses() const { return fixed_ == 0 && probes_ == 0; }
  void judge(double loss, double plain);

  int64_t fixed_;
  std::map<int64_t, Median> plain_;  // by the number of texts
  Median draft_, read_, row_;
  Quotient recent_rate_;  // tokens per second
  double rate_ = 0.0, least_row_ = 0.0;
  int64_t texts_ = 1;
  // How many tokens were right and how many were tried, by confidence.
  struct Record {
    std::array<double, kClasses> right{}, tried{};
  };
  std::array<Record, 2> records_;  // of each Guess
  Quotient right_of_model_;
  int64_t probes_ = 3;    // steps left in which few tokens are drafted whatever that costs, to learn what it costs
  int64_t pause_ = 0;     // steps left
  int64_t failures_ = 0;  // in a row, the latest stretches between pauses in which drafts saved less than they lost
  int64_t since_plain_ = 0;
  // Seconds since the last pause: lost, never below 0; spent on reading whole texts; saved and not spent.
  double loss_ = 0.0, allowed_ = 0.0, saved_ = 0.0;
  double typical_ = 0.0, typical_without_ = 0.0;  // seconds of all steps by the formula above, with and without drafts
  DraftReport report_;
};

}  // namespace heed
