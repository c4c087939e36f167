#include "text/tokenizer_training.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/errors.h"
#include "text/sentencepiece/sentencepiece_tokenizer.h"
#include "text/sentencepiece/sentencepiece_training.h"
#include "text/unicode/unicode.h"
#include "text/unicode/words.h"
#include "text/vocabulary/vocabulary_tokenizer.h"
#include "text/vocabulary/wordpiece_training.h"

namespace heed {
namespace {

constexpr double kMinCoverage = 0.98;  // SentencePiece's limit
constexpr int64_t kLargestVocabulary = int64_t{1} << 24;

using Kind = TokenizerKind;
using Counts = std::unordered_map<std::string, int64_t>;

bool is_sentencepiece(Kind kind) { return kind == Kind::bpe || kind == Kind::unigram; }

void check(const TokenizerTraining& training) {
  const std::string_view kind = name_of(training.kind);
  const auto smallest = static_cast<int64_t>(kSpecials + training.user_symbols.size() + 1);
  const bool open = training.kind == Kind::word || training.kind == Kind::character || training.kind == Kind::byte;
  require<ConfigError>((open && training.vocabulary == 0) ||
                           (training.vocabulary >= smallest && training.vocabulary <= kLargestVocabulary),
                       "vocabulary", "{} tokens for {}, expected {} to {}", training.vocabulary, kind, smallest,
                       kLargestVocabulary);
  require<ConfigError>(training.minimum_count >= 0, "minimum count", "{}, expected 0 or more", training.minimum_count);
  require<ConfigError>(training.minimum_count == 0 || (!is_sentencepiece(training.kind) && training.kind != Kind::byte),
                       "minimum count", "a {} tokenizer has none", kind);
  require<ConfigError>(training.coverage >= 0.0 && training.coverage <= 1.0, "coverage",
                       "{}, expected 0 (the kind's default) to 1", training.coverage);
  require<ConfigError>(
      training.coverage == 0.0 || training.coverage >= kMinCoverage || !is_sentencepiece(training.kind), "coverage",
      "{} for {}, expected {} to 1", training.coverage, kind, kMinCoverage);
  require<ConfigError>(training.sample_lines >= 1, "tokenizer", "sample_lines is {}, expected at least 1",
                       training.sample_lines);
  require<ConfigError>(training.sample_lines == TokenizerTraining{}.sample_lines || is_sentencepiece(training.kind),
                       "sample lines", "a {} tokenizer learns from all lines", kind);
  require<ConfigError>(training.coverage == 0.0 || (training.kind != Kind::word && training.kind != Kind::byte),
                       "coverage", "a {} tokenizer has none", kind);
  check_symbols(training.special, training.user_symbols, training.normalization);
}

Vocabulary empty_vocabulary(const TokenizerTraining& training) {
  return {.kind = training.kind,
          .normalization = training.normalization,
          .special = training.special,
          .user_symbols = training.user_symbols,
          .pieces = {}};
}

// Most frequent first; equally frequent ones in the order of their bytes, which is that of their code points.
std::vector<WordCount> ordered(const Counts& counts) {
  std::vector<WordCount> words;
  words.reserve(counts.size());
  for (const auto& [word, count] : counts) {
    words.push_back({word, count});
  }
  std::ranges::sort(words, [](const WordCount& a, const WordCount& b) {
    return a.count != b.count ? a.count > b.count : a.word < b.word;
  });
  return words;
}

// User symbols are in the vocabulary already; the texts before and after one are counted separately.
std::vector<std::string_view> between_symbols(const TokenizerTraining& training, std::string_view line) {
  std::vector<std::string_view> parts{line};
  for (const std::string& symbol : training.user_symbols) {
    std::vector<std::string_view> finer;
    for (std::string_view part : parts) {
      for (size_t at = part.find(symbol); at != std::string_view::npos; at = part.find(symbol)) {
        finer.push_back(part.substr(0, at));
        part.remove_prefix(at + symbol.size());
      }
      finer.push_back(part);
    }
    parts = std::move(finer);
  }
  return parts;
}

Counts count_words(const TokenizerTraining& training, const LineSource& lines) {
  Counts counts;
  std::string line;
  while (lines(line)) {
    for (const std::string_view part : between_symbols(training, line)) {
      for (const std::string_view word : split_words(part)) {
        ++counts[std::string(word)];
      }
    }
  }
  return counts;
}

Counts count_characters(const TokenizerTraining& training, const LineSource& lines) {
  Counts counts;
  std::string line;
  while (lines(line)) {
    line += '\n';
    for (const std::string_view part : between_symbols(training, line)) {
      for (const char32_t code_point : to_code_points(part)) {
        ++counts[to_utf8({&code_point, 1})];
      }
    }
  }
  return counts;
}

// The first pieces, as many as the training's limits allow.
std::vector<std::string> most_frequent(const TokenizerTraining& training, const Counts& counts, int64_t minimum) {
  const std::vector<std::string> specials = training.special.in_order();
  std::unordered_set<std::string> taken(specials.begin(), specials.end());
  taken.insert(training.user_symbols.begin(), training.user_symbols.end());
  const size_t room =
      training.vocabulary == 0 ? counts.size() : static_cast<size_t>(training.vocabulary) - taken.size();
  int64_t total = 0, covered = 0;
  for (const auto& entry : counts) {
    total += entry.second;
  }
  const double coverage = training.coverage == 0.0 ? 1.0 : training.coverage;
  std::vector<std::string> pieces;
  for (const auto& [word, count] : ordered(counts)) {
    if (count < minimum || pieces.size() == room ||
        static_cast<double>(covered) >= coverage * static_cast<double>(total)) {
      break;
    }
    covered += count;
    if (!taken.contains(word)) {
      pieces.push_back(word);
    }
  }
  return pieces;
}

std::vector<std::string> wordpieces(const TokenizerTraining& training, const LineSource& lines) {
  std::vector<WordCount> words = ordered(count_words(training, lines));
  std::erase_if(words, [](const WordCount& word) { return to_code_points(word.word).size() > kMaxWordLength; });
  const std::vector<std::string> specials = training.special.in_order();
  std::unordered_set<std::string> taken(specials.begin(), specials.end());
  taken.insert(training.user_symbols.begin(), training.user_symbols.end());
  std::vector<std::string> pieces =
      train_wordpiece(words, {.pieces = static_cast<size_t>(training.vocabulary) - taken.size(),
                              .minimum_count = training.minimum_count == 0 ? 2 : training.minimum_count,
                              .coverage = training.coverage == 0.0 ? 0.9995 : training.coverage});
  std::erase_if(pieces, [&](const std::string& piece) { return taken.contains(piece); });
  return pieces;
}

std::unique_ptr<Tokenizer> train_vocabulary(const TokenizerTraining& training, const LineSource& lines,
                                            std::string_view where) {
  Vocabulary vocabulary = empty_vocabulary(training);
  const int64_t minimum = training.minimum_count;
  if (training.kind == Kind::word) {
    vocabulary.pieces = most_frequent(training, count_words(training, lines), minimum == 0 ? 2 : minimum);
  } else if (training.kind == Kind::character) {
    vocabulary.pieces = most_frequent(training, count_characters(training, lines), std::max<int64_t>(1, minimum));
  } else if (training.kind == Kind::wordpiece) {
    vocabulary.pieces = wordpieces(training, lines);
  } else {
    const auto size = static_cast<int64_t>(kSpecials + training.user_symbols.size() + kBytes);
    require<ConfigError>(training.vocabulary == 0 || training.vocabulary == size, "vocabulary",
                         "{} for byte, which has {}", training.vocabulary, size);
    for (std::string line; lines(line);) {  // there is nothing to learn, but the lines must be text
    }
  }
  require<ConfigError>(training.kind == Kind::byte || !vocabulary.pieces.empty(), where,
                       "there is no text to learn a vocabulary from, or nothing in it is frequent enough");
  return make_vocabulary_tokenizer(std::move(vocabulary));
}

}  // namespace

std::unique_ptr<Tokenizer> train_tokenizer(const TokenizerTraining& training, const LineSource& lines,
                                           std::string_view where) {
  check(training);
  int64_t number = 0;
  const LineSource normalized = [&](std::string& line) {
    std::string raw;
    if (!lines(raw)) {
      return false;
    }
    ++number;
    const std::optional<size_t> invalid = find_invalid_utf8(raw);
    require<FormatError>(!invalid, where, "line {}: byte {} is not UTF-8", number, invalid.value_or(0));
    line = is_sentencepiece(training.kind) ? normalize_for_sentencepiece(raw, training.normalization)
                                           : normalize(raw, training.normalization);
    return true;
  };
  if (!is_sentencepiece(training.kind)) {
    return train_vocabulary(training, normalized, where);
  }
  std::string first;
  bool more = normalized(first);
  while (more && first.empty()) {
    more = normalized(first);
  }
  require<ConfigError>(more, where, "there is no text to learn a vocabulary from");
  const LineSource all = [&](std::string& line) {
    if (more) {
      more = false;
      line = std::move(first);
      return true;
    }
    return normalized(line);
  };
  return parse_tokenizer(add_note(train_sentencepiece(training, all), training.normalization), "trained tokenizer");
}

}  // namespace heed
