// The search of one sentence by several groups of hypotheses, or with several next tokens.
#pragma once

#include "decode/sentence_search.h"

namespace heed {

// Groups take a step one after the other, and each token costs a group the options' diversity for each hypothesis of the
// groups before that took it in this step (diverse beam search). With alternatives, each of the best next tokens has a
// group of its own from there on, and nothing costs.
class GroupSearch {
 public:
  // What the task refers to, the options and the rules must outlive it.
  GroupSearch(const TranslationOptions& options, const SearchRules& rules, const SearchTask& task);

  // Hypotheses at most, at a time.
  static int64_t width(const TranslationOptions& options);

  // As of SentenceSearch; hypotheses are counted through all groups.
  int64_t active() const;
  std::span<const int32_t> last_token(int64_t hypothesis) const;
  const AutomatonWalk& walk() const { return groups_.front().walk(); }
  int64_t further_rows() const { return groups_.front().further_rows(); }
  Wanted wanted() const { return groups_.front().wanted(); }
  int64_t take_prefix(const HostView<float>& log_probs, int64_t first_row);
  std::vector<int64_t> advance(const HostView<float>& log_probs, int64_t first_row);

  // Each once, best first, of which n_best are wanted; of alternatives the best of each, in the order of the tokens that
  // they begin with.
  std::vector<Hypothesis> results();

 private:
  std::vector<int64_t> begin_alternatives(const HostView<float>& log_probs, int64_t row);

  const TranslationOptions* options_;
  bool has_begun_ = false;  // before, all groups have the same hypothesis
  std::vector<SentenceSearch> groups_;
  std::vector<int32_t> avoided_;
};

}  // namespace heed
