#include "decode/search/group_search.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace heed {

GroupSearch::GroupSearch(const TranslationOptions& options, const SearchRules& rules, const SearchTask& task)
    : options_(&options), recorder_(task.recorder) {
  groups_.reserve(static_cast<size_t>(options.groups));
  for (int64_t group = 0; group < options.groups; ++group) {
    groups_.emplace_back(options, rules, task, SentenceSearch::Group{options.beam / options.groups, group});
  }
}

int64_t GroupSearch::width(const TranslationOptions& options) {
  return options.beam * std::max<int64_t>(1, options.alternatives);
}

int64_t GroupSearch::active() const {
  if (!has_begun_) {
    return 1;
  }
  int64_t sum = 0;
  for (const SentenceSearch& group : groups_) {
    sum += group.active();
  }
  return sum;
}

std::span<const int32_t> GroupSearch::last_token(int64_t hypothesis) const {
  auto group = groups_.begin();
  while (hypothesis >= group->active()) {
    hypothesis -= group->active();
    ++group;
  }
  return group->last_token(hypothesis);
}

int64_t GroupSearch::take_prefix(const HostView<float>& log_probs, int64_t first_row) {
  int64_t row = first_row;
  for (SentenceSearch& group : groups_) {
    row = group.take_prefix(log_probs, first_row);
  }
  return row;
}

std::vector<int64_t> GroupSearch::advance(const HostView<float>& log_probs, int64_t first_row) {
  const bool begins = !std::exchange(has_begun_, true);
  if (recorder_ != nullptr) {
    recorder_->begin_step();
  }
  if (begins && options_->alternatives > 0) {
    return begin_alternatives(log_probs, first_row);
  }
  std::vector<int64_t> parents;
  avoided_.clear();
  int64_t first = 0;  // of the group's hypotheses
  for (SentenceSearch& group : groups_) {
    const int64_t rows = group.active();
    if (rows == 0) {
      continue;
    }
    std::ranges::transform(group.advance(log_probs, first_row + first, avoided_), std::back_inserter(parents),
                           [first](int64_t parent) { return first + parent; });
    for (int64_t h = 0; options_->groups > 1 && h < group.active(); ++h) {
      avoided_.push_back(group.last_token(h).front());
    }
    first += begins ? 0 : rows;
  }
  return parents;
}

std::vector<int64_t> GroupSearch::begin_alternatives(const HostView<float>& log_probs, int64_t row) {
  groups_ = groups_.front().branches(log_probs, row, options_->alternatives);
  return std::vector<int64_t>(static_cast<size_t>(active()), 0);
}

std::vector<Hypothesis> GroupSearch::results() {
  std::vector<Hypothesis> all;
  for (SentenceSearch& group : groups_) {
    std::vector<Hypothesis> own = group.finished();
    std::ranges::stable_sort(own, std::greater(), &Hypothesis::score);
    if (options_->alternatives > 0) {
      own.resize(std::min<size_t>(1, own.size()));
    }
    std::ranges::move(own, std::back_inserter(all));
  }
  if (options_->alternatives > 0) {
    return all;
  }
  std::ranges::stable_sort(all, std::greater(), &Hypothesis::score);
  std::vector<Hypothesis> each;
  each.reserve(all.size());
  for (Hypothesis& hypothesis : all) {
    const bool is_new =
        options_->groups == 1 || std::ranges::find(each, hypothesis.tokens, &Hypothesis::tokens) == each.end();
    if (is_new) {
      each.push_back(std::move(hypothesis));
    }
  }
  return each;
}

}  // namespace heed
