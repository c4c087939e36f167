// How many tokens are worth drafting, from what was right so far and how long it took.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "heed/drafting.h"

namespace heed {

// Where a drafted token comes from.
enum class Guess : uint8_t { from_text, by_model };

// A step of the model, in which each text had a token to read and perhaps a draft to check.
struct DraftedStep {
  int64_t texts = 0;
  int64_t written = 0;                        // tokens
  int64_t drafted = 0, accepted = 0;          // tokens that were checked, and those of them that were right
  int64_t drafter_steps = 0;                  // one after the other
  int64_t drafting = 0;                       // texts that the drafter read, and drafted tokens for
  int64_t caught_up = 0;                      // tokens of theirs that it read before
  int64_t afforded = 0;                       // of these, those that it asked for
  double draft_seconds = 0.0, seconds = 0.0;  // of drafting, and of the model's step
};

// The time of a step is taken as
//   plain(texts) + drafter_steps * draft + drafted * row
// whose parts are measured. Where `rate` tokens per second are being written, and a token, with all before it in its
// draft, is right with chance c, checking it pays if c > rate * row, and drafting one more if c > rate * (row + draft).
// When drafts have cost more than they brought by the time of two steps, and of catching up with the texts, there are
// none until that is a small share of the time. What they have brought before may be spent on reading whole texts,
// where the drafter has only read their ends.
class DraftPace {
 public:
  // 0: as many tokens as pay; otherwise that many, always. `share` is about the time of a drafter's step over that of
  // the model's: where a trial takes long, it waits until it is a small share of the time.
  explicit DraftPace(int64_t tokens, double share = 0.0);

  // Before a step of so many texts: the most tokens to draft for each. 0: the step shows how long one without drafts
  // takes, or drafts do not pay.
  int64_t next_most(int64_t texts);

  // In such a step, of a token that is right, with all before it, with such a chance.
  bool worth_checking(double chance) const { return !chooses() || pays(chance, row_seconds()); }
  // ... whether one more is worth drafting.
  bool worth_another(double chance) const;

  // Whether it is being tried what drafts cost and bring: for one text, if they take time.
  bool tries() const { return fixed_ == 0 && probes_ > 0; }
  // Whether drafts have brought the time that it takes to read so many tokens.
  static constexpr int64_t kCheapToRead = 48;
  bool affords(int64_t tokens) const;

  // How often tokens of such a confidence, 0 to 1, were right.
  double chance(Guess guess, double confidence) const;
  // A token was checked, and all before it in its draft were right.
  enum class Checked : uint8_t { right, wrong };
  void learn(Guess guess, double confidence, Checked checked);
  void add(const DraftedStep& step);

  const DraftReport& report() const { return report_; }

 private:
  // A quotient of sums in which the latest count most.
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
  // By confidence.
  struct Record {
    std::array<double, kClasses> right{}, tried{};
  };
  std::array<Record, 2> records_;  // of each Guess
  Quotient right_of_model_;
  int64_t probes_ = 3;    // steps left in which few tokens are drafted whatever that costs, to learn what it costs
  int64_t pause_ = 0;     // steps left
  int64_t failures_ = 0;  // stretches between pauses, the latest in a row, that brought less than they lost
  int64_t since_plain_ = 0;
  // Seconds since the last pause: lost, never below 0; spent on reading whole texts; brought and not spent.
  double loss_ = 0.0, allowed_ = 0.0, brought_ = 0.0;
  double typical_ = 0.0, typical_without_ = 0.0;  // seconds of all steps, as they usually take, and without drafts
  DraftReport report_;
};

}  // namespace heed
