// IBM Model 1: each target token comes from one of the sentence's source tokens or from the empty word s_0, all of them
// equally likely.
//
//   p(t_1 ... t_m | s_1 ... s_l) = product over j of 1 / (l + 1) (sum over i = 0 ... l of p(t_j | s_i))
//
// EM, from p(t | s) the same for all t:
//
//   z_j = sum over i of p(t_j | s_i)          in each sentence, for each target token
//   c(t | s) = sum over all j with t_j = t, and all i with s_i = s, of p(t | s) / z_j
//   p(t | s) = c(t | s) / (sum over t of c(t | s))
//
// The first iteration keeps the kKept targets with the largest c(t | s) of each source token, which bounds memory;
// those of the empty word are all kept. A sum is over the sentences in their order, in double, by one thread.
#include "data/corpus/lexical_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/errors.h"
#include "base/rounding.h"

namespace heed {
namespace {

constexpr int kIterations = 5;
constexpr int64_t kKept = 1000;
constexpr int64_t kMostBest = kKept;
constexpr int64_t kSentencesAtOnce = 1024;

// p(t | s) of one source token.
struct LexicalRow {
  std::vector<int32_t> targets;  // ascending
  std::vector<float> probabilities;

  float of(int32_t target) const {
    const auto found = std::ranges::lower_bound(targets, target);
    return found == targets.end() || *found != target ? 0.0F
                                                      : probabilities[static_cast<size_t>(found - targets.begin())];
  }
};

struct CountedTarget {
  int32_t target;
  double count;

  static bool more(const CountedTarget& a, const CountedTarget& b) {
    return a.count != b.count ? a.count > b.count : a.target < b.target;
  }
};

// The sentences in which each source token occurs, as often as it does.
class Occurrences {
 public:
  explicit Occurrences(const TokenStore& source) : ends_(static_cast<size_t>(source.vocabulary()), 0) {
    std::vector<int32_t> tokens;
    for (int64_t s = 0; s < source.size(); ++s) {
      tokens.clear();
      source.read(s, tokens);
      for (const int32_t token : tokens) {
        ++ends_[static_cast<size_t>(token)];
      }
    }
    std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
    sentences_.resize(static_cast<size_t>(ends_.empty() ? 0 : ends_.back()));
    std::vector<int64_t> next(ends_.size(), 0);
    std::copy(ends_.begin(), ends_.end() - 1, next.begin() + 1);
    for (int64_t s = 0; s < source.size(); ++s) {
      tokens.clear();
      source.read(s, tokens);
      for (const int32_t token : tokens) {
        sentences_[static_cast<size_t>(next[static_cast<size_t>(token)]++)] = static_cast<int32_t>(s);
      }
    }
  }

  std::span<const int32_t> of(size_t token) const {
    const int64_t begin = token == 0 ? 0 : ends_[token - 1];
    return std::span(sentences_).subspan(static_cast<size_t>(begin), static_cast<size_t>(ends_[token] - begin));
  }

 private:
  std::vector<int64_t> ends_;
  std::vector<int32_t> sentences_;
};

// What one worker counts with.
struct LexicalCounter {
  explicit LexicalCounter(int64_t vocabulary)
      : counts(static_cast<size_t>(vocabulary), 0.0), probabilities(counts.size(), 0.0F) {}

  void add(int32_t target, double count) {
    double& sum = counts[static_cast<size_t>(target)];
    if (sum == 0.0 && count > 0.0) {
      counted.push_back(target);
    }
    sum += count;
  }
  // What was counted, in the order in which it came first; begins again.
  std::vector<CountedTarget> take() {
    std::vector<CountedTarget> taken;
    taken.reserve(counted.size());
    for (const int32_t target : counted) {
      taken.push_back({target, std::exchange(counts[static_cast<size_t>(target)], 0.0)});
    }
    counted.clear();
    return taken;
  }

  std::vector<double> counts;
  std::vector<float> probabilities;  // p(t | s) of the source token that is looked at
  std::vector<int32_t> counted, tokens;
};

class LexicalModel {
 public:
  LexicalModel(const Corpus& corpus, ThreadPool& pool)
      : source_(corpus.source()),
        target_(corpus.target()),
        pool_(pool),
        occurrences_(source_),
        everywhere_(static_cast<size_t>(source_.size())),
        rows_(static_cast<size_t>(source_.vocabulary()) + 1),
        sums_(static_cast<size_t>(target_.tokens())),
        counters_(static_cast<size_t>(pool.threads()), LexicalCounter(target_.vocabulary())) {
    std::iota(everywhere_.begin(), everywhere_.end(), 0);
    count_rows([&](int64_t sentence, size_t, const LexicalCounter&, int32_t) {
      return 1.0 / static_cast<double>(source_.length(sentence) + 1);
    });
  }

  void iterate() {
    sum_over_sources();
    count_rows([&](int64_t, size_t position, const LexicalCounter& counter, int32_t target) {
      const float probability = counter.probabilities[static_cast<size_t>(target)];
      return probability == 0.0F ? 0.0 : static_cast<double>(probability) / static_cast<double>(sums_[position]);
    });
  }

  // The likeliest targets of a source token, best first.
  std::vector<int32_t> best(size_t token, int64_t count) const {
    const LexicalRow& row = rows_[token];
    std::vector<CountedTarget> ranked;
    for (size_t i = 0; i < row.targets.size(); ++i) {
      if (row.probabilities[i] > 0.0F) {
        ranked.push_back({row.targets[i], static_cast<double>(row.probabilities[i])});
      }
    }
    std::ranges::sort(ranked, CountedTarget::more);
    ranked.resize(std::min(ranked.size(), static_cast<size_t>(count)));
    std::vector<int32_t> targets(ranked.size());
    std::ranges::transform(ranked, targets.begin(), &CountedTarget::target);
    return targets;
  }

 private:
  size_t empty_word() const { return rows_.size() - 1; }

  void sum_over_sources() {
    const int64_t tasks = ceil_div(source_.size(), kSentencesAtOnce);
    pool_.run(tasks, [&](int64_t task, int) {
      std::vector<int32_t> sources, targets;
      const int64_t end = std::min(source_.size(), (task + 1) * kSentencesAtOnce);
      for (int64_t s = task * kSentencesAtOnce; s < end; ++s) {
        sources.clear();
        targets.clear();
        source_.read(s, sources);
        target_.read(s, targets);
        float* sum = sums_.data() + target_.begin(s);
        for (const int32_t target : targets) {
          *sum = rows_.back().of(target);
          for (const int32_t token : sources) {
            *sum += rows_[static_cast<size_t>(token)].of(target);
          }
          ++sum;
        }
      }
    });
  }

  // p(t | s) from the expected counts, of which `expected` is one.
  template <class Expected>
  void count_rows(Expected expected) {
    pool_.run(std::ssize(rows_), [&](int64_t task, int worker) {
      const auto token = static_cast<size_t>(task);
      LexicalCounter& counter = counters_[static_cast<size_t>(worker)];
      LexicalRow& row = rows_[token];
      for (size_t i = 0; i < row.targets.size(); ++i) {
        counter.probabilities[static_cast<size_t>(row.targets[i])] = row.probabilities[i];
      }
      for (const int32_t sentence :
           token == empty_word() ? std::span<const int32_t>(everywhere_) : occurrences_.of(token)) {
        counter.tokens.clear();
        target_.read(sentence, counter.tokens);
        auto position = static_cast<size_t>(target_.begin(sentence));
        for (const int32_t target : counter.tokens) {
          counter.add(target, expected(sentence, position++, counter, target));
        }
      }
      for (const int32_t target : row.targets) {
        counter.probabilities[static_cast<size_t>(target)] = 0.0F;
      }
      row = normalized(counter.take(), token == empty_word() ? target_.vocabulary() : kKept);
    });
  }

  static LexicalRow normalized(std::vector<CountedTarget> counted, int64_t most) {
    double total = 0.0;
    for (const CountedTarget& one : counted) {
      total += one.count;
    }
    if (std::ssize(counted) > most) {
      std::ranges::sort(counted, CountedTarget::more);
      counted.resize(static_cast<size_t>(most));
    }
    std::ranges::sort(counted, {}, &CountedTarget::target);
    LexicalRow row;
    for (const CountedTarget& one : counted) {
      row.targets.push_back(one.target);
      row.probabilities.push_back(static_cast<float>(one.count / total));
    }
    return row;
  }

  const TokenStore& source_;
  const TokenStore& target_;
  ThreadPool& pool_;
  Occurrences occurrences_;
  std::vector<int32_t> everywhere_;  // all sentences: those of the empty word
  std::vector<LexicalRow> rows_;     // of each source token, and of the empty word
  std::vector<float> sums_;          // z of each target token
  std::vector<LexicalCounter> counters_;
};

std::vector<int32_t> most_frequent(const TokenStore& target, int64_t count) {
  std::vector<int32_t> tokens;
  std::vector<CountedTarget> counted(static_cast<size_t>(target.vocabulary()));
  for (size_t token = 0; token < counted.size(); ++token) {
    counted[token] = {static_cast<int32_t>(token), 0.0};
  }
  for (int64_t s = 0; s < target.size(); ++s) {
    tokens.clear();
    target.read(s, tokens);
    for (const int32_t token : tokens) {
      counted[static_cast<size_t>(token)].count += 1.0;
    }
  }
  std::ranges::sort(counted, CountedTarget::more);
  std::vector<int32_t> frequent;
  for (const CountedTarget& one : counted) {
    if (one.count > 0.0 && std::ssize(frequent) < count) {
      frequent.push_back(one.target);
    }
  }
  return frequent;
}

}  // namespace

ShortlistTable learn_shortlist(const Corpus& corpus, const LexicalRules& rules, ThreadPool& pool) {
  require<ConfigError>(rules.best >= 1 && rules.best <= kMostBest, "shortlist",
                       "{} target tokens for each source token, expected 1 to {}", rules.best, kMostBest);
  require<ConfigError>(rules.frequent >= 0, "shortlist", "{} frequent target tokens, expected 0 or more",
                       rules.frequent);
  require<ConfigError>(corpus.size() <= INT32_MAX, "shortlist", "{} pairs, expected {} at most", corpus.size(),
                       INT32_MAX);
  ensure(corpus.sides() == 2, "shortlist", "a corpus with {} sides", corpus.sides());
  LexicalModel model(corpus, pool);
  for (int iteration = 1; iteration < kIterations; ++iteration) {
    model.iterate();
  }
  ShortlistTable table{.frequent = most_frequent(corpus.target(), rules.frequent), .ends = {}, .targets = {}};
  for (size_t token = 0; token < static_cast<size_t>(corpus.source().vocabulary()); ++token) {
    const std::vector<int32_t> best = model.best(token, rules.best);
    table.targets.insert(table.targets.end(), best.begin(), best.end());
    table.ends.push_back(std::ssize(table.targets));
  }
  return table;
}

}  // namespace heed
