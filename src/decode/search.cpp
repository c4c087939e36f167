#include "decode/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "decode/decoder_state.h"
#include "ops/loss.h"

namespace heed {
namespace {

struct Continuation {
  int64_t parent;  // which of the sentence's hypotheses
  int32_t token;
  double log_probability;  // of the whole hypothesis
};

// Better first; of equals the earlier parent, then the smaller token, so that the order is never left to chance.
bool better(const Continuation& a, const Continuation& b) {
  if (a.log_probability != b.log_probability) {
    return a.log_probability > b.log_probability;
  }
  return std::pair(a.parent, a.token) < std::pair(b.parent, b.token);
}

// The best few of what is offered, in order.
class Best {
 public:
  explicit Best(size_t most) : most_(most) {}

  void offer(const Continuation& candidate) {
    if (list_.size() == most_) {
      if (!better(candidate, list_.back())) {
        return;
      }
      list_.pop_back();
    }
    list_.insert(std::ranges::upper_bound(list_, candidate, better), candidate);
  }
  // What could still enter the list is not below this.
  double threshold() const {
    return list_.size() < most_ ? -std::numeric_limits<double>::infinity() : list_.back().log_probability;
  }
  const std::vector<Continuation>& list() const { return list_; }

 private:
  size_t most_;
  std::vector<Continuation> list_;
};

constexpr int64_t kBlock = 64;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

bool any_reaches(const float* values, float least) {
  int any = 0;
  for (int64_t i = 0; i < kBlock; ++i) {
    any |= values[i] >= least ? 1 : 0;
  }
  return any != 0;
}

struct Partial {
  std::vector<int32_t> tokens;
  double log_probability = 0.0;
};

// The search for one sentence.
class SentenceSearch {
 public:
  SentenceSearch(const SearchOptions& options, int64_t max_length) : options_(&options), max_length_(max_length) {
    active_.push_back({});
  }

  int64_t active() const { return static_cast<int64_t>(active_.size()); }
  int32_t last_token(int64_t hypothesis) const {
    const std::vector<int32_t>& tokens = active_[static_cast<size_t>(hypothesis)].tokens;
    return tokens.empty() ? options_->bos : tokens.back();
  }

  // Takes one row of log-probabilities for each hypothesis that goes on. Returns the parents of those that go on now.
  std::vector<int64_t> advance(const HostView<float>& log_probs, int64_t first_row) {
    const bool at_the_end = static_cast<int64_t>(active_.front().tokens.size()) + 1 >= max_length_;
    const Best best = at_the_end ? best_ends(log_probs, first_row) : best_continuations(log_probs, first_row);
    require<FormatError>(!best.list().empty(), "search",
                         "the model's log-probabilities are not numbers: its weights are damaged");
    std::vector<Partial> next;
    std::vector<int64_t> parents;
    const auto beam = static_cast<size_t>(options_->beam);
    for (size_t rank = 0; rank < best.list().size() && next.size() < beam; ++rank) {
      const Continuation& c = best.list()[rank];
      const Partial& parent = active_[static_cast<size_t>(c.parent)];
      if (c.token != options_->eos) {
        next.push_back({parent.tokens, c.log_probability});
        next.back().tokens.push_back(c.token);
        parents.push_back(c.parent);
      } else if (rank < beam) {
        ended_.push_back({parent.tokens, c.log_probability, score(c.log_probability, parent.tokens.size() + 1)});
      }
    }
    const bool done = at_the_end || ended_.size() >= beam;
    active_ = done ? std::vector<Partial>{} : std::move(next);
    return done ? std::vector<int64_t>{} : parents;
  }

  std::vector<Hypothesis> results() {
    std::ranges::stable_sort(ended_, std::greater(), &Hypothesis::score);
    ended_.resize(std::min(ended_.size(), static_cast<size_t>(options_->n_best)));
    return std::move(ended_);
  }

 private:
  double score(double log_probability, size_t length) const {
    return log_probability / std::pow(static_cast<double>(length), options_->length_penalty);
  }

  Best best_continuations(const HostView<float>& log_probs, int64_t first_row) const {
    Best best(2 * static_cast<size_t>(options_->beam));
    for (int64_t h = 0; h < active(); ++h) {
      offer_row(log_probs.row(first_row + h), log_probs.columns, h, best);
    }
    return best;
  }

  // Few tokens are worth a closer look: whole blocks are passed over by one comparison each, which compilers vectorize.
  void offer_row(const float* row, int64_t columns, int64_t hypothesis, Best& best) const {
    const double so_far = active_[static_cast<size_t>(hypothesis)].log_probability;
    for (int64_t first = 0; first < columns; first += kBlock) {
      // Rounded down, so that nothing is passed over that would enter the list.
      const float least = std::nextafter(static_cast<float>(best.threshold() - so_far), kMinusInfinity);
      const int64_t last = std::min(first + kBlock, columns);
      if (last == first + kBlock && !any_reaches(row + first, least)) {
        continue;
      }
      for (int64_t token = first; token < last; ++token) {
        const double sum = so_far + static_cast<double>(row[token]);
        if (sum >= best.threshold() && !std::ranges::count(options_->never, static_cast<int32_t>(token))) {
          best.offer({hypothesis, static_cast<int32_t>(token), sum});
        }
      }
    }
  }

  Best best_ends(const HostView<float>& log_probs, int64_t first_row) const {
    Best best(static_cast<size_t>(options_->beam));
    for (int64_t h = 0; h < active(); ++h) {
      const auto end = static_cast<double>(log_probs.row(first_row + h)[options_->eos]);
      if (!std::isnan(end)) {
        best.offer({h, options_->eos, active_[static_cast<size_t>(h)].log_probability + end});
      }
    }
    return best;
  }

  const SearchOptions* options_;
  int64_t max_length_;
  std::vector<Partial> active_;
  std::vector<Hypothesis> ended_;
};

int64_t longest_output(const SearchOptions& options, const ModelConfig& config, size_t source_length) {
  const auto wanted = options.max_length > 0 ? options.max_length : 2 * static_cast<int64_t>(source_length) + 16;
  return std::min(wanted, config.longest);
}

// Everything of one batch's search: the sentences, what the decoder reads of them, and what it remembers.
class BatchSearch {
 public:
  BatchSearch(const TranslationModel& translation, const std::vector<std::vector<int32_t>>& sources,
              const SearchOptions& options)
      : translation_(translation),
        pass_(Pass::infer(translation.backend, translation.storage)),
        source_(sources),
        state_(translation.backend, translation.storage,
               {translation.config.decoder_layers,
                translation.config.heads_of_keys() * translation.config.width_of_head()}) {
    memory_ = translation.model.project(pass_, translation.model.encode(pass_, source_));
    for (const std::vector<int32_t>& source : sources) {
      sentences_.emplace_back(options, longest_output(options, translation.config, source.size()));
    }
    state_.add(static_cast<int64_t>(sentences_.size()));
  }

  std::vector<std::vector<Hypothesis>> run() {
    while (state_.count() > 0) {
      step();
    }
    std::vector<std::vector<Hypothesis>> results;
    for (SentenceSearch& sentence : sentences_) {
      results.push_back(sentence.results());
    }
    return results;
  }

 private:
  void step() {
    std::vector<std::vector<int32_t>> fresh;
    std::vector<int64_t> rows_of_sentence;
    for (const SentenceSearch& sentence : sentences_) {
      rows_of_sentence.push_back(sentence.active());
      for (int64_t h = 0; h < sentence.active(); ++h) {
        fresh.push_back({sentence.last_token(h)});
      }
    }
    const LogProbs log_probs = next_log_probs(fresh, Segments(rows_of_sentence));
    Tensor copy;
    const HostView<float> rows = on_host(log_probs.var().value(), copy);
    std::vector<int64_t> parents;
    int64_t first_row = 0;
    for (SentenceSearch& sentence : sentences_) {
      const int64_t active = sentence.active();
      if (active > 0) {
        for (const int64_t parent : sentence.advance(rows, first_row)) {
          parents.push_back(first_row + parent);
        }
      }
      first_row += active;
    }
    state_.select(parents);
  }

  // One more token of every hypothesis goes through the decoder.
  LogProbs next_log_probs(const std::vector<std::vector<int32_t>>& fresh, const Segments& rows_of_sentence) {
    const Sequences target = Sequences::continuing(fresh, state_.lengths());
    const auto& caches = state_.extend(std::vector<int64_t>(fresh.size(), 1));
    for (ProjectedMemory& memory : memory_) {
      memory.queries = &rows_of_sentence;
    }
    const Hidden hidden = translation_.model.decode_next(pass_, target, memory_, {.caches = &caches});
    return log_softmax(pass_, translation_.model.logits(pass_, hidden));
  }

  // Where they are, if that is where we can read them; else in `copy`.
  HostView<float> on_host(const View& log_probs, Tensor& copy) {
    if (translation_.backend.device() == Device::cpu && log_probs.type() == DType::f32) {
      return host<float>(log_probs);
    }
    copy = Tensor({log_probs.rows(), log_probs.columns()}, DType::f32);
    translation_.backend.copy(log_probs, copy.view());
    return host<float>(copy.view());
  }

  const TranslationModel& translation_;
  Pass pass_;
  Sequences source_;
  DecoderState state_;
  std::vector<ProjectedMemory> memory_;
  std::vector<SentenceSearch> sentences_;
};

}  // namespace

void SearchOptions::validate() const {
  require<ConfigError>(beam >= 1 && beam <= 1024, "search", "beam is {}, expected 1 to 1024", beam);
  require<ConfigError>(n_best >= 1 && n_best <= beam, "search", "n-best is {}, expected 1 to the beam of {}", n_best,
                       beam);
  require<ConfigError>(length_penalty >= 0.0 && length_penalty <= 10.0, "search",
                       "length penalty is {}, expected 0 to 10", length_penalty);
  require<ConfigError>(max_length >= 0, "search",
                       "max length is {}, expected at least 1, or 0 for twice the source and 16 more", max_length);
}

std::vector<std::vector<Hypothesis>> search(const TranslationModel& translation,
                                            const std::vector<std::vector<int32_t>>& sources,
                                            const SearchOptions& options) {
  options.validate();
  if (sources.empty()) {
    return {};
  }
  return BatchSearch(translation, sources, options).run();
}

std::vector<double> score_pairs(const TranslationModel& translation, const std::vector<std::vector<int32_t>>& sources,
                                const std::vector<std::vector<int32_t>>& targets, const SearchOptions& options) {
  require(sources.size() == targets.size(), "score", "{} sources for {} targets", sources.size(), targets.size());
  std::vector<std::vector<int32_t>> inputs;
  std::vector<int32_t> expected;
  for (const std::vector<int32_t>& target : targets) {
    inputs.push_back({options.bos});
    inputs.back().insert(inputs.back().end(), target.begin(), target.end());
    expected.insert(expected.end(), target.begin(), target.end());
    expected.push_back(options.eos);
  }
  const PairBatch batch{Sequences(sources), Sequences(inputs), Targets(std::move(expected))};
  Pass pass = Pass::infer(translation.backend, translation.storage);
  const TokenLosses losses = translation.model.loss(pass, batch, Smoothing(0.0F));
  std::vector<double> scores;
  const Segments& segments = batch.target.segments();
  for (int64_t s = 0; s < segments.count(); ++s) {
    double sum = 0.0;
    for (int64_t row = segments.begin(s); row < segments.end(s); ++row) {
      sum -= losses.negative_log_likelihood(row);
    }
    scores.push_back(sum);
  }
  return scores;
}

}  // namespace heed
