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
                               const Group& group)
    : options_(&options),
      rules_(&rules),
      row_tokens_(task.candidates),
      beam_(group.beam),
      group_(group.number),
      max_length_(task.max_length),
      recorder_(task.recorder),
      prompt_(task.tokens.first(task.tokens.size() - static_cast<size_t>(task.prefix))),
      prefix_(task.tokens.last(static_cast<size_t>(task.prefix))) {
  active_.push_back({});
  forbidden_.reset(rules.tokens.suppressed);
}

int64_t SentenceSearch::take_prefix(const HostView<float>& log_probs, int64_t first_row) {
  for (int64_t i = 0; i < std::ssize(prefix_); ++i) {
    const int32_t token = prefix_[static_cast<size_t>(i)];
    const float found = i < rules_->certain ? 0.0F : log_probs(first_row + i, row_tokens_.column(token));
    std::optional<BeamPlace> place;
    if (recorder_ != nullptr) {
      if (group_ == 0) {  // all groups have the same prefix
        recorder_->begin_step();
        place = note({0, token, 0.0, found}, BeamFate::went_on);
      } else {
        place = BeamPlace{i, 0};
      }
    }
    active_.front().add(token, found, likeliest_of(log_probs, first_row + i));
    active_.front().place = place;
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

// The continuation of one of the hypotheses.
std::optional<BeamPlace> SentenceSearch::note(const NextToken& token, BeamFate fate) const {
  if (recorder_ == nullptr) {
    return std::nullopt;
  }
  const Partial& parent = active_[static_cast<size_t>(token.parent)];
  const auto of_token = static_cast<double>(token.token_log_probability);
  const double sum = parent.log_probability + of_token;
  return recorder_->add({.parent = parent.place ? parent.place->hypothesis : -1,
                         .group = group_,
                         .id = token.token,
                         .piece = {},
                         .token_log_probability = of_token,
                         .log_probability = sum,
                         .score = score(sum, parent.tokens.size() + 1),
                         .fate = fate});
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
  std::vector<int64_t> parents;
  const auto beam = static_cast<size_t>(beam_);
  // Continuations after the first `beam` only replace those that end, for the next step; at the end there is none.
  const size_t count = at_the_end && rules_->forced.empty() ? std::min(best.size(), beam) : best.size();
  for (size_t rank = 0; rank < best.size(); ++rank) {
    const NextToken& c = best[rank];
    const auto p = static_cast<size_t>(c.parent);
    if (rank >= count || next.size() == beam || (c.token == rules_->tokens.eos && rank >= beam)) {
      note(c, BeamFate::dropped);
    } else if (c.token == rules_->tokens.eos) {
      end(active_[p], c, likeliest[p]);
    } else {
      next.push_back(active_[p]);
      next.back().add(c.token, c.token_log_probability, likeliest[p]);
      next.back().place = note(c, at_the_end ? BeamFate::ended : BeamFate::went_on);
      parents.push_back(c.parent);
    }
  }
  if (at_the_end) {
    set_aside(std::move(next));
    return {};
  }
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
    branch.group_ = std::ssize(branches) - 1;
    if (c.token == rules_->tokens.eos) {
      branch.end(active_.front(), c, likeliest);
      branch.active_.clear();
    } else {
      const std::optional<BeamPlace> place = branch.note(c, BeamFate::went_on);
      branch.active_.front().add(c.token, c.token_log_probability, likeliest);
      branch.active_.front().place = place;
    }
  }
  return branches;
}

void SentenceSearch::require_any(bool any, const HostView<float>& log_probs, int64_t row) const {
  require<ConfigError>(any || row_tokens_.all() || std::isnan(log_probs(row, 0)), "search",
                       "the other rules forbid all tokens of the shortlist that a sentence may use");
  require<FormatError>(any, "search", "the model's log-probabilities are NaN: its weights are damaged");
}

void SentenceSearch::end(const Partial& parent, const NextToken& last, const SharedRanking& likeliest) {
  const std::optional<BeamPlace> place = note(last, BeamFate::ended);
  Partial whole = parent;
  if (likeliest != nullptr) {
    whole.likeliest.push_back(likeliest);
  }
  whole.token_log_probabilities.push_back(last.token_log_probability);
  whole.log_probability += static_cast<double>(last.token_log_probability);
  const double of_all = score(whole.log_probability, whole.tokens.size() + 1);
  ended_.push_back({std::move(whole.tokens), std::move(whole.token_log_probabilities), whole.log_probability, of_all,
                    false, std::move(whole.likeliest), place});
}

void SentenceSearch::set_aside(std::vector<Partial> cut_off) {
  for (Partial& partial : cut_off) {
    const double of_all = score(partial.log_probability, partial.tokens.size());
    ended_.push_back({std::move(partial.tokens), std::move(partial.token_log_probabilities), partial.log_probability,
                      of_all, true, std::move(partial.likeliest), partial.place});
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
