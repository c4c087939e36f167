#include "propose/text_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <unordered_set>

#include "base/errors.h"
#include "data/lines/line_reader.h"
#include "text/tokenizer_training.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr size_t kMostSampled = 200'000;  // lines of a side
constexpr int64_t kLeastMedian = 50, kLeastTenth = 20;
constexpr std::array<int64_t, 11> kVocabularies{500, 1000, 1500, 2000, 3000, 4000, 6000, 8000, 12000, 16000, 24000};
constexpr size_t kFirstTried = 5;

size_t count_words(std::string_view line, const auto& take) {
  size_t words = 0;
  for (size_t begin = 0; begin < line.size();) {
    const size_t first = line.find_first_not_of(" \t\r", begin);
    if (first == std::string_view::npos) {
      break;
    }
    const size_t end = std::min(line.size(), line.find_first_of(" \t\r", first));
    take(line.substr(first, end - first));
    ++words;
    begin = end;
  }
  return words;
}

int64_t number_of_words(const std::string& line) {
  return static_cast<int64_t>(count_words(line, [](std::string_view) {}));
}

// Every n-th line, so that the sample has at most kMostSampled of each side.
size_t step_of(const Lines& side) { return side.size() / kMostSampled + 1; }

std::unique_ptr<Tokenizer> learn(const std::vector<const Lines*>& sides, const Normalization& normalization,
                                 int64_t vocabulary) {
  size_t side = 0, next = 0;
  return train_tokenizer({.kind = TokenizerKind::bpe, .vocabulary = vocabulary, .normalization = normalization},
                         [&](std::string& line) {
                           while (side < sides.size() && next >= sides[side]->size()) {
                             ++side;
                             next = 0;
                           }
                           if (side == sides.size()) {
                             return false;
                           }
                           line = (*sides[side])[next];
                           next += step_of(*sides[side]);
                           return true;
                         });
}

SubwordFigures figures_of_vocabulary(const std::vector<const Lines*>& sides, const Normalization& normalization,
                                     int64_t vocabulary) {
  const std::unique_ptr<Tokenizer> tokenizer = learn(sides, normalization, vocabulary);
  std::vector<int64_t> counts(static_cast<size_t>(tokenizer->vocabulary_size()), 0);
  SubwordFigures figures{.vocabulary = tokenizer->vocabulary_size()};
  for (const Lines* const side : sides) {
    const size_t step = step_of(*side);
    for (size_t i = 0; i < side->size(); i += step) {
      for (const TokenId token : tokenizer->encode((*side)[i])) {
        counts[static_cast<size_t>(token.value)] += static_cast<int64_t>(step);
        figures.tokens += static_cast<int64_t>(step);
      }
    }
  }
  std::erase(counts, 0);  // marks, and bytes that spell rare characters
  if (!counts.empty()) {
    std::ranges::sort(counts);
    figures.median = counts[counts.size() / 2];
    figures.tenth = counts[counts.size() / 10];
  }
  return figures;
}

bool are_learned(const SubwordFigures& figures) {
  return figures.median >= kLeastMedian && figures.tenth >= kLeastTenth;
}

}  // namespace

Lines read_text_lines(const std::vector<std::string>& files) {
  Lines lines = read_lines(std::vector<std::filesystem::path>(files.begin(), files.end()));
  for (size_t i = 0; i < lines.size(); ++i) {
    require_text(lines[i], fmt::format("line {} of {}", i + 1, fmt::join(files, ", ")));
  }
  return lines;
}

TextFigures figures_of(const Lines& lines) {
  TextFigures figures{.lines = std::ssize(lines)};
  std::unordered_set<std::string_view> types;
  for (const std::string& line : lines) {
    figures.blank += is_blank(line) ? 1 : 0;
    figures.bytes += std::ssize(line) + 1;
    figures.words += static_cast<int64_t>(count_words(line, [&](std::string_view word) { types.insert(word); }));
    figures.has_capitals = figures.has_capitals || to_lower_case(line) != line;
  }
  figures.types = std::ssize(types);
  return figures;
}

PairFigures figures_of_pairs(const Lines& source, const Lines& target) {
  PairFigures figures;
  std::unordered_set<std::string> seen;
  for (size_t i = 0; i < source.size(); ++i) {
    if (is_blank(source[i]) || is_blank(target[i])) {
      ++figures.blank;
      continue;
    }
    const int64_t here = number_of_words(source[i]), there = number_of_words(target[i]);
    const auto [fewer, more] = std::minmax(here, there);
    figures.same += source[i] == target[i] ? 1 : 0;
    figures.uneven += more > 3 * fewer && more > fewer + 5 ? 1 : 0;
    figures.doubled += seen.insert(source[i] + "\n" + target[i]).second ? 0 : 1;
  }
  return figures;
}

double share_of_words(const Lines& lines, const Lines& among) {
  std::unordered_set<std::string_view> there;
  for (const std::string& line : among) {
    count_words(line, [&](std::string_view word) { there.insert(word); });
  }
  int64_t all = 0, known = 0;
  for (const std::string& line : lines) {
    count_words(line, [&](std::string_view word) {
      ++all;
      known += there.contains(word) ? 1 : 0;
    });
  }
  return static_cast<double>(known) / static_cast<double>(std::max<int64_t>(1, all));
}

int64_t count_shared(const Lines& lines, const Lines& among) {
  const std::unordered_set<std::string_view> there(among.begin(), among.end());
  return std::ranges::count_if(lines, [&](const std::string& line) { return !is_blank(line) && there.contains(line); });
}

std::vector<SubwordFigures> choose_vocabulary(const std::vector<const Lines*>& sides,
                                              const Normalization& normalization, int64_t most) {
  const auto tried = [&](size_t at) { return figures_of_vocabulary(sides, normalization, kVocabularies.at(at)); };
  size_t last = kVocabularies.size() - 1;
  while (last > 0 && kVocabularies[last] > most) {
    --last;
  }
  size_t at = std::min(kFirstTried, last);
  std::vector<SubwordFigures> all{tried(at)};
  if (are_learned(all.back())) {
    SubwordFigures best = all.back();
    // A text may have no more subwords than it has merges.
    while (at < last && best.vocabulary == kVocabularies[at]) {
      all.push_back(tried(++at));
      if (!are_learned(all.back())) {
        break;
      }
      best = all.back();
    }
    all.push_back(best);
    return all;
  }
  while (at > 0 && !are_learned(all.back())) {
    all.push_back(tried(--at));
  }
  return all;
}

std::vector<double> count_tokens(const std::vector<const Lines*>& sides, const Normalization& normalization,
                                 int64_t vocabulary) {
  const std::unique_ptr<Tokenizer> tokenizer = learn(sides, normalization, vocabulary);
  std::vector<double> tokens;
  tokens.reserve(sides.size());
  for (const Lines* const side : sides) {
    tokens.push_back(count_tokens(*tokenizer, *side));
  }
  return tokens;
}

int64_t longest_line(const std::vector<const Lines*>& sides, const Lines& lines, const Normalization& normalization,
                     int64_t vocabulary) {
  const std::unique_ptr<Tokenizer> tokenizer = learn(sides, normalization, vocabulary);
  int64_t longest = 0;
  for (const std::string& line : lines) {
    longest = std::max(longest, std::ssize(tokenizer->encode(line)));
  }
  return longest;
}

double count_tokens(const Tokenizer& tokenizer, const Lines& lines) {
  const size_t step = step_of(lines);
  int64_t tokens = 0;
  for (size_t i = 0; i < lines.size(); i += step) {
    tokens += static_cast<int64_t>(step) * (std::ssize(tokenizer.encode(lines[i])) + 1);
  }
  return static_cast<double>(tokens);
}

}  // namespace heed
