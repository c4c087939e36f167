// Joining a and b changes the log likelihood of the text, sum n(s) log(n(s) / N) over its pieces s, by about
//   gain(a, b) = n(ab) log(N n(ab) / (n(a) n(b)))
// Since n(ab) <= n(a), n(b), no pair gains more than n(ab) log(N / n(ab)). Pairs are sorted by count, so the search for
// the best one ends where that bound falls below the best gain so far. N is the number of characters.
#include "text/vocabulary/wordpiece_training.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "text/unicode/unicode.h"

namespace heed {
namespace {

struct Word {
  std::vector<int32_t> pieces;
  int64_t count;
};

struct Pair {
  int32_t left, right;
  int64_t count = 0;
  std::vector<int32_t> words;  // where it occurs, or has occurred
};

class Trainer {
 public:
  explicit Trainer(const WordPieceTraining& training) : training_(training) {}

  std::vector<std::string> run(const std::vector<WordCount>& words) {
    build_alphabet(words);
    for (const WordCount& word : words) {
      add_word(word);
    }
    for (size_t w = 0; w < words_.size(); ++w) {
      for_each_pair(words_[w], [&](Pair& pair) { pair.words.push_back(static_cast<int32_t>(w)); });
    }
    for (int32_t p = 0; p < static_cast<int32_t>(pairs_.size()); ++p) {
      order_.insert({pairs_[static_cast<size_t>(p)].count, -p});
    }
    while (texts_.size() < training_.pieces) {
      const int32_t best = best_pair();
      if (best < 0) {
        break;
      }
      join(best);
    }
    return texts_;
  }

 private:
  // A character counts as itself at the start of a word, and as its continuation after another character.
  void build_alphabet(const std::vector<WordCount>& words) {
    std::map<std::u32string, int64_t> counts;
    int64_t total = 0;
    for (const auto& [word, count] : words) {
      for (const std::u32string& symbol : symbols_of(word)) {
        counts[symbol] += count;
        total += count;
      }
    }
    std::vector<std::pair<std::u32string, int64_t>> ordered(counts.begin(), counts.end());
    std::ranges::stable_sort(ordered, std::ranges::greater(), &std::pair<std::u32string, int64_t>::second);
    int64_t covered = 0;
    for (const auto& [symbol, count] : ordered) {
      if (texts_.size() == training_.pieces ||
          static_cast<double>(covered) >= training_.coverage * static_cast<double>(total)) {
        break;
      }
      covered += count;
      ids_.emplace(to_utf8(symbol), static_cast<int32_t>(texts_.size()));
      texts_.push_back(to_utf8(symbol));
    }
    counts_.resize(texts_.size());
  }

  static std::vector<std::u32string> symbols_of(const std::string& word) {
    std::vector<std::u32string> symbols;
    for (const char32_t code_point : to_code_points(word)) {
      symbols.push_back((symbols.empty() ? U"" : U"##") + std::u32string(1, code_point));
    }
    return symbols;
  }

  void add_word(const WordCount& entry) {
    Word word{{}, entry.count};
    for (const std::u32string& symbol : symbols_of(entry.word)) {
      const auto it = ids_.find(to_utf8(symbol));
      if (it == ids_.end()) {
        return;
      }
      word.pieces.push_back(it->second);
    }
    for (const int32_t piece : word.pieces) {
      counts_[static_cast<size_t>(piece)] += word.count;
      total_ += static_cast<double>(word.count);
    }
    words_.push_back(std::move(word));
    for_each_pair(words_.back(), [&](Pair& pair) { pair.count += entry.count; });
  }

  template <class Use>
  void for_each_pair(const Word& word, Use&& use) {
    for (size_t i = 1; i < word.pieces.size(); ++i) {
      use(pairs_[static_cast<size_t>(pair_index(word.pieces[i - 1], word.pieces[i]))]);
    }
  }

  int32_t pair_index(int32_t left, int32_t right) {
    const uint64_t key = static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
    const auto [it, added] = pair_ids_.emplace(key, static_cast<int32_t>(pairs_.size()));
    if (added) {
      pairs_.push_back({left, right, 0, {}});
    }
    return it->second;
  }

  // The pair with the highest gain; in a tie, the more frequent and then the older one. Negative when there is none.
  int32_t best_pair() const {
    int32_t best = -1;
    double best_gain = 0.0;
    for (auto it = order_.rbegin(); it != order_.rend() && it->first >= training_.minimum_count; ++it) {
      const auto count = static_cast<double>(it->first);
      // The bound increases with the count only up to N / e.
      if (best >= 0 && count < total_ / 3.0 && count * std::log(total_ / count) < best_gain) {
        break;
      }
      const Pair& pair = pairs_[static_cast<size_t>(-it->second)];
      const double independent = count_of(pair.left) * count_of(pair.right);
      const double gain = count * std::log(total_ * count / independent);
      if (best < 0 || gain > best_gain) {
        best = -it->second;
        best_gain = gain;
      }
    }
    return best;
  }

  double count_of(int32_t piece) const { return static_cast<double>(counts_[static_cast<size_t>(piece)]); }

  void join(int32_t index) {
    const int32_t left = pairs_[static_cast<size_t>(index)].left;
    const int32_t right = pairs_[static_cast<size_t>(index)].right;
    const std::string text = texts_[static_cast<size_t>(left)] + texts_[static_cast<size_t>(right)].substr(2);
    // Different pairs can join to the same text.
    const auto [it, added] = ids_.emplace(text, static_cast<int32_t>(texts_.size()));
    if (added) {
      texts_.push_back(text);
      counts_.push_back(0);
    }
    const int32_t joined = it->second;
    const std::vector<int32_t> words = std::move(pairs_[static_cast<size_t>(index)].words);
    for (const int32_t w : words) {
      join_in(w, left, right, joined);
    }
    order_changes();
  }

  // Removes a word's pairs, joins the pair, and adds the new pairs.
  void join_in(int32_t w, int32_t left, int32_t right, int32_t joined) {
    Word& word = words_[static_cast<size_t>(w)];
    std::vector<int32_t> pieces;
    int64_t joins = 0;
    for (size_t i = 0; i < word.pieces.size(); ++i) {
      if (i + 1 < word.pieces.size() && word.pieces[i] == left && word.pieces[i + 1] == right) {
        pieces.push_back(joined);
        ++joins;
        ++i;
      } else {
        pieces.push_back(word.pieces[i]);
      }
    }
    if (joins == 0) {
      return;
    }
    change_pairs(word, -word.count);
    word.pieces = std::move(pieces);
    change_pairs(word, word.count);
    for_each_pair(word, [&](Pair& pair) {
      const bool fresh = pair.left == joined || pair.right == joined;
      if (fresh && (pair.words.empty() || pair.words.back() != w)) {
        pair.words.push_back(w);
      }
    });
    counts_[static_cast<size_t>(left)] -= joins * word.count;
    counts_[static_cast<size_t>(right)] -= joins * word.count;
    counts_[static_cast<size_t>(joined)] += joins * word.count;
  }

  void change_pairs(const Word& word, int64_t by) {
    for (size_t i = 1; i < word.pieces.size(); ++i) {
      const int32_t index = pair_index(word.pieces[i - 1], word.pieces[i]);
      Pair& pair = pairs_[static_cast<size_t>(index)];
      changed_.emplace(index, pair.count);  // keeps the first count, under which the pair is found in order_
      pair.count += by;
    }
  }

  void order_changes() {
    for (const auto& [index, old_count] : changed_) {
      const int64_t count = pairs_[static_cast<size_t>(index)].count;
      if (count != old_count) {
        order_.erase({old_count, -index});
        if (count > 0) {
          order_.insert({count, -index});
        }
      }
    }
    changed_.clear();
  }

  WordPieceTraining training_;
  std::vector<std::string> texts_;                // of pieces
  std::vector<int64_t> counts_;                   // of pieces
  std::unordered_map<std::string, int32_t> ids_;  // of texts
  double total_ = 0.0;                            // characters
  std::vector<Word> words_;
  std::vector<Pair> pairs_;
  std::unordered_map<uint64_t, int32_t> pair_ids_;  // (left, right) -> index
  std::set<std::pair<int64_t, int32_t>> order_;     // (count, minus the index) of pairs that occur
  std::unordered_map<int32_t, int64_t> changed_;    // pair -> its count before
};

}  // namespace

std::vector<std::string> train_wordpiece(const std::vector<WordCount>& words, const WordPieceTraining& training) {
  return Trainer(training).run(words);
}

}  // namespace heed
