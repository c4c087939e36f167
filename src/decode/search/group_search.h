// The search of one sentence by several groups of hypotheses, or with several next tokens.
#pragma once

#include "decode/search/sentence_search.h"

namespace heed {

// Diverse beam search: the groups take a step one after the other, and a token costs a group the options' diversity for
// each hypothesis of the groups before it that took the token in this step. With alternatives, each of the best next
// tokens begins a group of its own, and no token costs anything.
class GroupSearch {
 public:
  // What the task refers to, the options and the rules must outlive it.
  GroupSearch(const TranslationOptions& options, const SearchRules& rules, const SearchTask& task);

  // The most hypotheses at a time.
  static int64_t width(const TranslationOptions& options);

  // As in SentenceSearch; hypotheses are numbered through all groups.
  int64_t active() const;
  std::span<const int32_t> last_token(int64_t hypothesis) const;
  const AutomatonWalk& walk() const { return groups_.front().walk(); }
  int64_t further_rows() const { return groups_.front().further_rows(); }
  RowsWanted wanted() const { return groups_.front().wanted(); }
  int64_t take_prefix(const HostView<float>& log_probs, int64_t first_row);
  std::vector<int64_t> advance(const HostView<float>& log_probs, int64_t first_row);

  // What the only hypothesis has so far, with a width of 1.
  SentenceSearch::Growing growing() const { return groups_.front().growing(); }

  // All that were found, each once, best first; with alternatives the best of each, in the order of their first tokens.
  std::vector<Hypothesis> results();

 private:
  std::vector<int64_t> begin_alternatives(const HostView<float>& log_probs, int64_t row);

  const TranslationOptions* options_;
  BeamRecorder* recorder_;
  bool has_begun_ = false;  // until then all groups share one hypothesis
  std::vector<SentenceSearch> groups_;
  std::vector<int32_t> avoided_;
};

}  // namespace heed
