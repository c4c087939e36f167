// The search from one start: its hypotheses, from step to step. It knows rows of log-probabilities, not models.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decode/stepper.h"
#include "heed/translation.h"

namespace heed {

// What happens to a hypothesis that reaches its maximum length: it ends there, whatever the end's probability, or is
// cut off without an end.
enum class AtMaxLength : uint8_t { end, cut };

// What a search needs to know about the model's tokens.
struct SearchRules {
  AtMaxLength at_max_length = AtMaxLength::end;
  int32_t bos = 2, eos = 3;
  std::vector<int32_t> suppressed;  // tokens that no hypothesis may contain, such as padding
};

struct Hypothesis {
  std::vector<int32_t> tokens;  // without bos and eos
  double log_probability = 0.0;
  double score = 0.0;
  bool cut_off = false;  // it has no end; see AtMaxLength
};

// At each step the best 2 * beam continuations are considered: those among the first `beam` that end are finished, and
// the best that do not end go on. The search is done when `beam` hypotheses are finished.
class SentenceSearch {
 public:
  // What the options and rules are must outlive it.
  SentenceSearch(const TranslationOptions& options, const SearchRules& rules, int64_t max_length);

  int64_t active() const { return static_cast<int64_t>(active_.size()); }  // 0: it is done
  std::span<const int32_t> last_token(int64_t hypothesis) const {
    return std::span(active_[static_cast<size_t>(hypothesis)].tokens).last(1);
  }
  // Rows that can be taken after the next one, at most.
  int64_t further_rows() const { return max_length_ - 1 - static_cast<int64_t>(active_.front().tokens.size()); }

  // Takes one row of log-probabilities for each active hypothesis. Returns the parents of the new active ones.
  // FormatError when the rows are NaN.
  std::vector<int64_t> advance(const HostView<float>& log_probs, int64_t first_row);

  // Best first: at most n_best, at least one. To be called once.
  std::vector<Hypothesis> results();

 private:
  struct Partial {
    std::vector<int32_t> tokens;
    double log_probability = 0.0;
  };
  struct NextToken {
    int64_t parent;  // which of the hypotheses
    int32_t token;
    double log_probability;  // of the whole hypothesis
  };
  class Best;

  void set_aside(std::vector<Partial> cut_off);
  double score(double log_probability, size_t length) const;
  Best best_continuations(const HostView<float>& log_probs, int64_t first_row) const;
  void offer_row(const float* row, int64_t columns, int64_t hypothesis, Best& best) const;
  Best best_ends(const HostView<float>& log_probs, int64_t first_row) const;

  const TranslationOptions* options_;
  const SearchRules* rules_;
  int64_t max_length_;
  std::vector<Partial> active_;
  std::vector<Hypothesis> ended_;
};

}  // namespace heed
