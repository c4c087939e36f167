#include "decode/search/search.h"

#include <algorithm>
#include <utility>

#include "base/interruption.h"

namespace heed {
namespace {

constexpr double kMaxPenalty = 1000.0;
constexpr SequenceId kRemoved{-1};

// Hypotheses of one beam mostly continue one text, and differ in the latest tokens alone: on Multi30k each beyond the
// first has 5 to 7 tokens of its own, with beams of 4 and 8 and whatever the length, and this includes a partly empty
// page.
constexpr int64_t kOwnTokens = 7;

// How many of a search's hypotheses continue different texts: one of each group, of each alternative, and of those with
// a number of forced tokens.
int64_t texts_apart(const TranslationOptions& options, const SearchRules& rules) {
  return std::min(GroupSearch::width(options),
                  std::max({options.groups, options.alternatives, rules.forced.tokens() + 1}));
}

}  // namespace

SearchRequest::SearchRequest(const SearchTask& task, const TranslationOptions& options, const SearchRules& rules,
                             const Sampler& greedy, SearchListener* listener)
    : task_(task),
      options_(options),
      width_(GroupSearch::width(options)),
      apart_(texts_apart(options, rules)),
      end_(rules.tokens.eos),
      greedy_(greedy),
      listener_(listener),
      search_(options, rules, task),
      length_(std::ssize(task.tokens)) {}

// Translations are mostly about as long as their source.
int64_t SearchRequest::expected_tokens(int64_t cached) const {
  const auto source = std::ssize(task_.source), given = std::ssize(task_.tokens);
  const int64_t most = given - task_.prefix + task_.max_length;
  const int64_t text = source == 0 ? most : std::min(most, std::max(given + source + source / 4, length_ + 1));
  return apart_ * std::min(text, cached) + (width_ - apart_) * std::min({kOwnTokens, text, cached});
}

void SearchRequest::begin(const StepContext& context, SequenceId sequence) {
  stepper_ = &context.stepper;
  if (width_ == 1) {
    single_.emplace(context, sequence, task_.tokens);
  } else {
    sequences_.push_back(sequence);
  }
}

void SearchRequest::add_drafts(std::vector<DraftTask>& tasks) {
  if (!single_) {
    return;
  }
  single_->begin_step();
  if (has_read_) {
    single_->request_draft({.source = task_.source,
                            .counts = no_counts_,
                            .sampler = greedy_,
                            .draw = {{}, written()},
                            .most = search_.further_rows(),
                            .walk = search_.walk()},
                           tasks);
  }
}

void SearchRequest::add_new_tokens(std::vector<NewTokens>& new_tokens) {
  if (single_) {
    new_tokens.push_back(single_->new_tokens(search_.wanted()));
    new_tokens.back().scores = ScoresWanted::log_probs;
    return;
  }
  for (size_t h = 0; h < sequences_.size(); ++h) {
    new_tokens.push_back({sequences_[h], has_read_ ? search_.last_token(static_cast<int64_t>(h)) : task_.tokens,
                          search_.wanted(), ScoresWanted::log_probs});
  }
}

int64_t SearchRequest::take(const NextTokens& next, int64_t first_row) {
  const int64_t written = advance(next, first_row);
  if (listener_ != nullptr) {
    tell();
  }
  return written;
}

void SearchRequest::tell() {
  if (const BeamSteps steps = task_.recorder == nullptr ? BeamSteps{} : task_.recorder->new_steps(); !steps.empty()) {
    listener_->on_steps(steps);
  }
  if (done()) {
    listener_->on_results(results(), copied_);
  }
}

int64_t SearchRequest::advance(const NextTokens& next, int64_t first_row) {
  if (!std::exchange(has_read_, true)) {
    first_token_ = std::chrono::steady_clock::now();
    copied_ = single_ ? single_->copied() : stepper_->copied_tokens(sequences_.front());
  }
  const int64_t row = search_.take_prefix(next.log_probs, first_row);
  if (single_) {
    return take_greedily(next, row);
  }
  replace(search_.advance(next.log_probs, row));
  ++length_;
  return search_.active();
}

int64_t SearchRequest::take_greedily(const NextTokens& next, int64_t first_row) {
  single_->end_step();
  const auto choose = [&](int64_t row) {
    const bool goes_on = !search_.advance(next.log_probs, row).empty();
    return goes_on ? search_.last_token(0).front() : end_;
  };
  const auto add = [&](int64_t, int32_t) {
    const bool goes_on = search_.active() > 0;
    if (goes_on && listener_ != nullptr) {
      listener_->on_growth(search_.growing());
    }
    return goes_on;
  };
  const int64_t written = single_->write(first_row, choose, add);
  length_ += written;
  if (done()) {
    single_.reset();
  }
  return written;
}

// A parent's sequence becomes that of its first child, and is forked for the others; without children it is removed. At
// each moment, also where there is no memory for a fork, those that there are stand in one of the two lists.
void SearchRequest::replace(const std::vector<int64_t>& parent_of_child) {
  going_on_.reserve(parent_of_child.size());
  for (size_t parent = 0; parent < sequences_.size(); ++parent) {
    if (!std::ranges::count(parent_of_child, static_cast<int64_t>(parent))) {
      stepper_->remove(std::exchange(sequences_[parent], kRemoved));
    }
  }
  for (auto child = parent_of_child.begin(); child != parent_of_child.end(); ++child) {
    const SequenceId parent = sequences_[static_cast<size_t>(*child)];
    const bool is_first = std::find(parent_of_child.begin(), child, *child) == child;
    going_on_.push_back(is_first ? parent : stepper_->fork(parent));
  }
  sequences_.swap(going_on_);
  going_on_.clear();
}

std::vector<Hypothesis> SearchRequest::results() {
  std::vector<Hypothesis> found = search_.results();
  if (options_.coverage_penalty == 0.0 && options_.alternatives == 0) {
    found.resize(std::min(found.size(), static_cast<size_t>(options_.n_best)));
  }
  return found;
}

void SearchRequest::leave() {
  if (single_) {
    single_->leave();
    single_.reset();
  }
  for (const SequenceId sequence : going_on_) {
    if (std::ranges::find(sequences_, sequence) == sequences_.end()) {
      stepper_->remove(sequence);
    }
  }
  for (const SequenceId sequence : sequences_) {
    if (sequence != kRemoved) {
      stepper_->remove(sequence);
    }
  }
  going_on_.clear();
  sequences_.clear();
}

void require_finished(const SearchRequest& search) { require_uninterrupted(search.interrupted(), "search"); }

void validate(const TranslationOptions& options) {
  constexpr std::string_view kWhere = "search";
  const int64_t beam = options.beam;
  require_option(beam >= 1 && beam <= kMaxBeam, kWhere, "beam", beam, fmt::format("1 to {}", kMaxBeam));
  require_option(options.n_best >= 1 && options.n_best <= beam, kWhere, "n-best", options.n_best,
                 fmt::format("1 to the beam of {}", beam));
  require_option(options.length_penalty >= 0.0 && options.length_penalty <= kMaxLengthPenalty, kWhere, "length penalty",
                 options.length_penalty, fmt::format("0 to {}", kMaxLengthPenalty));
  require_option(options.max_length >= 0, kWhere, "max tokens", options.max_length,
                 "at least 1, or 0 for 16 more than twice the source or than what must be written");
  require_option(options.groups >= 1 && beam % options.groups == 0, kWhere, "groups", options.groups,
                 fmt::format("a number that divides the beam of {}", beam));
  require_option(options.diversity >= 0.0 && options.diversity <= kMaxPenalty, kWhere, "diversity", options.diversity,
                 fmt::format("0 to {}", kMaxPenalty));
  require_option(options.repetition_penalty >= 1.0 / kMaxPenalty && options.repetition_penalty <= kMaxPenalty, kWhere,
                 "repetition penalty", options.repetition_penalty, "0.001 to 1000");
  require_option(options.coverage_penalty >= 0.0 && options.coverage_penalty <= kMaxPenalty, kWhere, "coverage penalty",
                 options.coverage_penalty, fmt::format("0 to {}", kMaxPenalty));
  require<ConfigError>(options.coverage_penalty == 0.0 || beam > 1, kWhere,
                       "a coverage penalty reorders hypotheses: it needs a beam above 1");
  require<ConfigError>(options.patience == 1.0 || options.early_stopping == EarlyStopping::on, kWhere,
                       "patience delays early stopping, so it needs early stopping");
  require_option(options.patience > 0.0 && options.patience <= kMaxPenalty, kWhere, "patience", options.patience,
                 fmt::format("more than 0, at most {}", kMaxPenalty));
  require<ConfigError>(
      static_cast<double>(options.n_best) <= static_cast<double>(beam) * options.patience || options.patience >= 1.0,
      kWhere, "n-best is {}, but a beam of {} with a patience of {} finds fewer", options.n_best, beam,
      options.patience);
  require_option(options.alternatives >= 0 && options.alternatives <= kMaxBeam / beam, kWhere, "alternatives",
                 options.alternatives,
                 fmt::format("0 to {}: alternatives times the beam may be at most {}", kMaxBeam / beam, kMaxBeam));
  require<ConfigError>(
      options.alternatives == 0 || (options.groups == 1 && options.n_best == 1 && options.coverage_penalty == 0.0),
      kWhere, "alternatives cannot be combined with groups, n-best lists or a coverage penalty");
  validate_likeliest(options.likeliest, options.each, kWhere);
  validate(options.rules);
  require_option(options.max_length == 0 || options.rules.min_length <= options.max_length, kWhere, "min tokens",
                 options.rules.min_length, fmt::format("at most the max tokens of {}", options.max_length));
}

}  // namespace heed
