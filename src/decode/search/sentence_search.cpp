#include "decode/search/sentence_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>

#include "decode/sampling/score_blocks.h"

namespace heed {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

}  // namespace

// The best few of the offered candidates, in order.
class SentenceSearch::Best {
 public:
  explicit Best(size_t size) : size_(size) {}

  void offer(const NextToken& candidate) {
    if (list_.size() == size_) {
      if (!better(candidate, list_.back())) {
        return;
      }
      list_.pop_back();
    }
    list_.insert(std::ranges::upper_bound(list_, candidate, better), candidate);
  }
  // Candidates below this cannot enter the list.
  double threshold() const {
    return list_.size() < size_ ? -std::numeric_limits<double>::infinity() : list_.back().log_probability;
  }
  const std::vector<NextToken>& list() const { return list_; }

  // Better first; in a tie the earlier parent, then the smaller token, so that the order is always defined.
  static bool better(const NextToken& a, const NextToken& b) {
    if (a.log_probability != b.log_probability) {
      return a.log_probability > b.log_probability;
    }
    return std::pair(a.parent, a.token) < std::pair(b.parent, b.token);
  }

 private:
  size_t size_;
  std::vector<NextToken> list_;
};

void SentenceSearch::Partial::add(int32_t token, float token_log_probability, const SharedRanking& its_likeliest) {
  tokens.push_back(token);
  if (its_likeliest != nullptr) {
    likeliest.push_back(its_likeliest);
  }
  token_log_probabilities.push_back(token_log_probability);
  log_probability += static_cast<double>(token_log_probability);
}

SentenceSearch::SentenceSearch(const TranslationOptions& options, const SearchRules& rules, const SearchTask& task,
                               int64_t beam)
    : options_(&options),
      rules_(&rules),
      row_tokens_(task.candidates),
      beam_(beam),
      max_length_(task.max_length),
      prompt_(task.tokens.first(task.tokens.size() - static_cast<size_t>(task.prefix))),
      prefix_(task.tokens.last(static_cast<size_t>(task.prefix))),
      steps_(task.steps),
      in_step_{-1} {
  active_.push_back({});
  forbidden_.reset(rules.tokens.suppressed);
}

int64_t SentenceSearch::take_prefix(const HostView<float>& log_probs, int64_t first_row) {
  for (int64_t i = 0; i < std::ssize(prefix_); ++i) {
    const int32_t token = prefix_[static_cast<size_t>(i)];
    active_.front().add(token, i < rules_->certain ? 0.0F : log_probs(first_row + i, row_tokens_.column(token)),
                        likeliest_of(log_probs, first_row + i));
  }
  return first_row + std::ssize(std::exchange(prefix_, {}));
}

SharedRanking SentenceSearch::likeliest_of(const HostView<float>& log_probs, int64_t row) const {
  if (options_->likeliest == 0) {
    return nullptr;
  }
  return std::make_shared<const std::vector<RankedToken>>(
      likeliest_tokens(log_probs.row(row), row_tokens_.columns(log_probs.columns), row_tokens_, options_->likeliest));
}

std::vector<SharedRanking> SentenceSearch::likeliest_of_all(const HostView<float>& log_probs, int64_t first_row) const {
  std::vector<SharedRanking> all(active_.size());
  for (size_t h = 0; options_->likeliest > 0 && h < all.size(); ++h) {
    all[h] = likeliest_of(log_probs, first_row + static_cast<int64_t>(h));
  }
  return all;
}

std::vector<int64_t> SentenceSearch::advance(const HostView<float>& log_probs, int64_t first_row,
                                             std::span<const int32_t> avoided) {
  avoided_ = avoided;
  const bool at_the_end = is_at_the_end();
  const bool forced_to_end = at_the_end && rules_->at_limit != AtLimit::cut;
  const std::vector<NextToken> best = forced_to_end ? best_ends(log_probs, first_row).list()
                                      : rules_->forced.empty()
                                          ? best_continuations(log_probs, first_row, 2 * beam_).list()
                                          : forced_continuations(log_probs, first_row);
  require_any(!best.empty(), log_probs, first_row);
  const std::vector<SharedRanking> likeliest = likeliest_of_all(log_probs, first_row);
  std::vector<Partial> next;
  std::vector<int64_t> parents, in_step;
  if (steps_ != nullptr) {
    steps_->emplace_back();
  }
  const auto beam = static_cast<size_t>(beam_);
  // Continuations after the first `beam` only replace those that end, for the next step; at the end there is none.
  const size_t count = at_the_end && rules_->forced.empty() ? std::min(best.size(), beam) : best.size();
  for (size_t rank = 0; rank < count && next.size() < beam; ++rank) {
    const NextToken& c = best[rank];
    const auto p = static_cast<size_t>(c.parent);
    if (steps_ != nullptr && (rank < beam || c.token != rules_->tokens.eos)) {
      record(c, active_[p], in_step);
    }
    if (c.token != rules_->tokens.eos) {
      next.push_back(active_[p]);
      next.back().add(c.token, c.token_log_probability, likeliest[p]);
      parents.push_back(c.parent);
    } else if (rank < beam) {
      end(active_[p], c, likeliest[p]);
    }
  }
  if (at_the_end) {
    set_aside(std::move(next));
    return {};
  }
  in_step_ = std::move(in_step);
  const bool done = is_done(next);
  active_ = done ? std::vector<Partial>{} : std::move(next);
  return done ? std::vector<int64_t>{} : parents;
}

bool SentenceSearch::is_done(const std::vector<Partial>& going_on) const {
  if (options_->early_stopping == EarlyStopping::on || beam_ == 1) {
    return static_cast<double>(ended_.size()) >= static_cast<double>(beam_) * options_->patience;
  }
  const auto beam = static_cast<size_t>(beam_);
  if (ended_.size() < beam || going_on.empty()) {
    return going_on.empty();
  }
  std::vector<double> scores;
  std::ranges::transform(ended_, std::back_inserter(scores), &Hypothesis::score);
  std::ranges::nth_element(scores, scores.begin() + (beam_ - 1), std::greater());
  // Log-probabilities only fall, and a negative one gives the best score at the maximum length.
  const size_t length = options_->early_stopping == EarlyStopping::never ? static_cast<size_t>(max_length_)
                                                                         : going_on.front().tokens.size();
  const double best = std::ranges::max(going_on, {}, &Partial::log_probability).log_probability;
  return score(best, length) <= scores[beam - 1];
}

std::vector<SentenceSearch> SentenceSearch::branches(const HostView<float>& log_probs, int64_t row, int64_t count) {
  std::vector<SentenceSearch> branches;
  if (is_at_the_end()) {
    advance(log_probs, row);
    branches.push_back(std::move(*this));
    return branches;
  }
  const Best best = best_continuations(log_probs, row, count);
  require_any(!best.list().empty(), log_probs, row);
  branches.reserve(best.list().size());
  const SharedRanking likeliest = likeliest_of(log_probs, row);
  for (const NextToken& c : best.list()) {
    SentenceSearch& branch = branches.emplace_back(*this);
    if (c.token == rules_->tokens.eos) {
      branch.end(active_.front(), c, likeliest);
      branch.active_.clear();
    } else {
      branch.active_.front().add(c.token, c.token_log_probability, likeliest);
    }
  }
  return branches;
}

void SentenceSearch::require_any(bool any, const HostView<float>& log_probs, int64_t row) const {
  require<ConfigError>(any || row_tokens_.all() || std::isnan(log_probs(row, 0)), "search",
                       "the other rules forbid all tokens of the shortlist that a sentence may use");
  require<FormatError>(any, "search", "the model's log-probabilities are NaN: its weights are damaged");
}

// Adds it to the last step, and to `in_step` where it goes on.
void SentenceSearch::record(const NextToken& token, const Partial& parent, std::vector<int64_t>& in_step) {
  const bool ends = token.token == rules_->tokens.eos;
  const auto of_token = static_cast<double>(token.token_log_probability);
  if (!ends) {
    in_step.push_back(std::ssize(steps_->back()));
  }
  steps_->back().push_back({.parent = in_step_[static_cast<size_t>(token.parent)],
                            .id = token.token,
                            .piece = {},
                            .token_log_probability = of_token,
                            .log_probability = parent.log_probability + of_token,
                            .ended = ends});
}

void SentenceSearch::end(const Partial& parent, const NextToken& last, const SharedRanking& likeliest) {
  Partial whole = parent;
  if (likeliest != nullptr) {
    whole.likeliest.push_back(likeliest);
  }
  whole.token_log_probabilities.push_back(last.token_log_probability);
  whole.log_probability += static_cast<double>(last.token_log_probability);
  const double of_all = score(whole.log_probability, whole.tokens.size() + 1);
  ended_.push_back({std::move(whole.tokens), std::move(whole.token_log_probabilities), whole.log_probability, of_all,
                    false, std::move(whole.likeliest)});
}

void SentenceSearch::set_aside(std::vector<Partial> cut_off) {
  for (Partial& partial : cut_off) {
    const double of_all = score(partial.log_probability, partial.tokens.size());
    ended_.push_back({std::move(partial.tokens), std::move(partial.token_log_probabilities), partial.log_probability,
                      of_all, true, std::move(partial.likeliest)});
  }
  active_.clear();
}

double SentenceSearch::score(double log_probability, size_t length) const {
  return log_probability / std::pow(static_cast<double>(length), options_->length_penalty);
}

SentenceSearch::Best SentenceSearch::best_continuations(const HostView<float>& log_probs, int64_t first_row,
                                                        int64_t count) {
  Best best(static_cast<size_t>(count));
  const bool look_at_text = rules_->tokens.look_at_text();
  for (int64_t h = 0; h < active(); ++h) {
    if (look_at_text) {
      forbid(h);
    }
    offer_row(row_of(log_probs, first_row, h), row_tokens_.columns(log_probs.columns), h, best);
  }
  // Rules that leave no hypothesis any token give way.
  for (int64_t h = 0; look_at_text && best.list().empty() && h < active(); ++h) {
    forbid(h);
    forbidden_.give_way();
    offer_row(row_of(log_probs, first_row, h), row_tokens_.columns(log_probs.columns), h, best);
  }
  return best;
}

bool SentenceSearch::has_token(int64_t hypothesis, int32_t token) const {
  const std::vector<int32_t>& own = active_[static_cast<size_t>(hypothesis)].tokens;
  return std::ranges::find(prompt_, token) != prompt_.end() || std::ranges::find(own, token) != own.end();
}

const float* SentenceSearch::row_of(const HostView<float>& log_probs, int64_t first_row, int64_t hypothesis) {
  const float* const row = log_probs.row(first_row + hypothesis);
  if (options_->repetition_penalty == 1.0) {
    return row;
  }
  const int64_t columns = row_tokens_.columns(log_probs.columns);
  const auto penalty = static_cast<float>(options_->repetition_penalty);
  penalized_row_.assign(row, row + columns);
  std::vector<int32_t> seen(prompt_.begin(), prompt_.end());
  const std::vector<int32_t>& own = active_[static_cast<size_t>(hypothesis)].tokens;
  seen.insert(seen.end(), own.begin(), own.end());
  std::ranges::sort(seen);
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());  // Clang 14 cannot compile that of ranges
  for (const int32_t token : seen) {
    if (row_tokens_.has(token, columns)) {
      penalized_row_[static_cast<size_t>(row_tokens_.column(token))] *= penalty;
    }
  }
  return penalized_row_.data();
}

void SentenceSearch::forbid(int64_t hypothesis) {
  Partial& partial = active_[static_cast<size_t>(hypothesis)];
  const std::vector<int32_t>& tokens = partial.tokens;
  text_.assign(prompt_.begin(), prompt_.end());
  text_.insert(text_.end(), tokens.begin(), tokens.end());
  rules_->tokens.forbid({text_, static_cast<int64_t>(tokens.size()), max_length_}, partial.walk, forbidden_);
}

void SentenceSearch::offer_row(const float* row, int64_t columns, int64_t hypothesis, Best& best) const {
  const double so_far = active_[static_cast<size_t>(hypothesis)].log_probability;
  for (int64_t first = 0; first < columns; first += kScoreBlock) {
    // Rounded down, so that no token is skipped that would enter the list.
    const float threshold = std::nextafter(static_cast<float>(best.threshold() - so_far), kMinusInfinity);
    const int64_t last = std::min(first + kScoreBlock, columns);
    if (last == first + kScoreBlock && !any_reaches(row + first, threshold)) {
      continue;
    }
    for (int64_t column = first; column < last; ++column) {
      const int32_t token = row_tokens_.token(column);
      double sum = so_far + static_cast<double>(row[column]);
      if (!avoided_.empty() && sum >= best.threshold()) {
        sum -= options_->diversity * static_cast<double>(std::ranges::count(avoided_, token));
      }
      if (sum >= best.threshold() && !forbidden_.contains(token)) {
        best.offer({hypothesis, token, sum, row[column]});
      }
    }
  }
}

std::vector<SentenceSearch::NextToken> SentenceSearch::best_of_row(const float* row, int64_t columns,
                                                                   int64_t hypothesis) const {
  Best best(static_cast<size_t>(2 * beam_));
  offer_row(row, columns, hypothesis, best);
  return best.list();
}

void SentenceSearch::sort(std::vector<NextToken>& candidates) { std::ranges::sort(candidates, Best::better); }

SentenceSearch::Best SentenceSearch::best_ends(const HostView<float>& log_probs, int64_t first_row) const {
  Best best(static_cast<size_t>(beam_));
  for (int64_t h = 0; h < active(); ++h) {
    const float own = log_probs(first_row + h, row_tokens_.column(rules_->tokens.eos));
    const bool again = options_->repetition_penalty != 1.0 && has_token(h, rules_->tokens.eos);
    const float found = again ? own * static_cast<float>(options_->repetition_penalty) : own;
    if (const float end = rules_->at_limit == AtLimit::free_end ? 0.0F : found; !std::isnan(found)) {
      best.offer(
          {h, rules_->tokens.eos, active_[static_cast<size_t>(h)].log_probability + static_cast<double>(end), end});
    }
  }
  return best;
}

}  // namespace heed
