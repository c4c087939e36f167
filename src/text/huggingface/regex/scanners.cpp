// The expressions of published models, each as a function from the position of a match to its end.
#include <array>
#include <cstring>

#include "text/huggingface/characters/characters.h"
#include "text/huggingface/regex/pattern.h"

namespace heed::huggingface {
namespace {

constexpr size_t kNoMatch = std::string_view::npos;

// The kinds of characters that the expressions tell apart.
constexpr Categories kUpperLike =
    bit_of(Category::lu) | bit_of(Category::lt) | bit_of(Category::lm) | bit_of(Category::lo) | kMarks;
constexpr Categories kLowerLike = bit_of(Category::ll) | bit_of(Category::lm) | bit_of(Category::lo) | kMarks;

struct Seen {
  CharacterRecord record;
  uint32_t size;
  char first;

  bool is_letter() const { return record.in(kLetters); }
  bool is_number() const { return record.in(kNumbers); }
  bool is_space() const { return record.is_space(); }
  bool is_line_break() const { return first == '\n' || first == '\r'; }
  bool is_sign() const { return !is_space() && !record.in(kLetters | kNumbers); }  // [^\s\p{L}\p{N}]
};

class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text), table_(character_table()) {}

  size_t size() const { return text_.size(); }
  bool at_end(size_t at) const { return at >= text_.size(); }
  char byte(size_t at) const { return text_[at]; }
  bool is(size_t at, char byte) const { return at < text_.size() && text_[at] == byte; }

  Seen operator[](size_t at) const {
    const auto [value, size] = decode_character(text_.data() + at);
    return {table_[value], size, text_[at]};
  }

  template <class Test>
  bool test(size_t at, Test&& test) const {
    return at < text_.size() && test((*this)[at]);
  }

  // The end of the characters from `at` on that pass the test.
  template <class Test>
  size_t run(size_t at, Test&& test) const {
    while (at < text_.size()) {
      const Seen seen = (*this)[at];
      if (!test(seen)) {
        break;
      }
      at += seen.size;
    }
    return at;
  }

  size_t run_in(size_t at, Categories categories) const {
    return run(at, [=](const Seen& c) { return c.record.in(categories); });
  }

  size_t before(size_t at) const {
    do {
      --at;
    } while (continues_character(text_[at]));
    return at;
  }

 private:
  std::string_view text_;
  const CharacterTable& table_;
};

bool is_sign(const Seen& c) { return c.is_sign(); }
bool is_space(const Seen& c) { return c.is_space(); }
bool is_letter(const Seen& c) { return c.is_letter(); }

// 's|'t|'re|'ve|'m|'ll|'d at an apostrophe. Without regard to case, the long s (U+017F) is an s.
size_t contraction_end(const Scan& text, size_t at, bool any_case) {
  if (!text.is(at, '\'') || text.at_end(at + 1)) {
    return kNoMatch;
  }
  const auto letter = [&](size_t position) {
    const char c = text.at_end(position) ? '\0' : text.byte(position);
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  const char first = letter(at + 1), second = letter(at + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') {
    return at + 2;
  }
  if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l')) {
    return at + 3;
  }
  if (any_case && text.is(at + 1, '\xc5') && text.is(at + 2, '\xbf')) {
    return at + 3;
  }
  return kNoMatch;
}

// \s+(?!\S)|\s+ at white space: all of it at the end of the text, else all but its last character, which the next word
// may want.
size_t spaces_end(const Scan& text, size_t at) {
  const size_t end = text.run(at, is_space);
  if (text.at_end(end)) {
    return end;
  }
  const size_t last = text.before(end);
  return last > at ? last : end;
}

// \s*[\r\n]+|\s+(?!\S)|\s+ at white space.
size_t lines_end(const Scan& text, size_t at) {
  size_t line = kNoMatch;
  const size_t end = text.run(at, is_space);
  for (size_t i = at; i < end; ++i) {
    if (text.byte(i) == '\n' || text.byte(i) == '\r') {
      line = i + 1;
    }
  }
  return line != kNoMatch ? line : spaces_end(text, at);
}

// A space or nothing, then signs, then characters of `tail`.
size_t signs_end(const Scan& text, size_t at, std::string_view tail) {
  const size_t begin = text.is(at, ' ') ? at + 1 : at;
  size_t end = text.run(begin, is_sign);
  if (end == begin) {
    return kNoMatch;
  }
  while (!text.at_end(end) && tail.find(text.byte(end)) != std::string_view::npos) {
    ++end;
  }
  return end;
}

size_t up_to(const Scan& text, size_t at, Categories categories, int limit) {
  for (; limit > 0 && text.test(at, [=](const Seen& c) { return c.record.in(categories); }); --limit) {
    at += text[at].size;
  }
  return at;
}

struct Gpt2Scanner {
  static size_t end_of(const Scan& text, size_t at) {
    if (const size_t end = contraction_end(text, at, false); end != kNoMatch) {
      return end;
    }
    const size_t begin = text.is(at, ' ') && !text.at_end(at + 1) ? at + 1 : at;
    const Seen first = text[begin];
    if (first.is_letter()) {
      return text.run_in(begin, kLetters);
    }
    if (first.is_number()) {
      return text.run_in(begin, kNumbers);
    }
    return first.is_space() ? spaces_end(text, at) : text.run(begin, is_sign);
  }
};

// Llama 3 (and OpenAI's cl100k) takes up to three digits together, Qwen 2 one.
template <int kDigits>
struct Llama3Scanner {
  static size_t end_of(const Scan& text, size_t at) {
    if (const size_t end = contraction_end(text, at, true); end != kNoMatch) {
      return end;
    }
    const Seen first = text[at];
    if (first.is_letter()) {
      return text.run_in(at, kLetters);
    }
    if (first.is_number()) {
      return up_to(text, at, kNumbers, kDigits);
    }
    if (!first.is_line_break() && text.test(at + first.size, is_letter)) {
      return text.run_in(at + first.size, kLetters);
    }
    if (const size_t end = signs_end(text, at, "\r\n"); end != kNoMatch) {
      return end;
    }
    return lines_end(text, at);
  }
};

// OpenAI's o200k: words end where a capital follows a small letter.
struct O200kScanner {
  // [upper]*[lower]+: where upper letters take all, the last of them that is lower too ends the word.
  static size_t mixed_end(const Scan& text, size_t at) {
    const size_t upper = text.run_in(at, kUpperLike);
    const size_t lower = text.run_in(upper, kLowerLike);
    if (lower > upper) {
      return lower;
    }
    for (size_t end = upper; end > at;) {
      const size_t begin = text.before(end);
      if (text[begin].record.in(kLowerLike)) {
        return end;
      }
      end = begin;
    }
    return kNoMatch;
  }

  // [upper]+[lower]*
  static size_t capital_end(const Scan& text, size_t at) {
    const size_t upper = text.run_in(at, kUpperLike);
    return upper > at ? text.run_in(upper, kLowerLike) : kNoMatch;
  }

  static size_t word_end(const Scan& text, size_t at) {
    const Seen first = text[at];
    const bool prefix = !first.is_line_break() && !first.record.in(kLetters | kNumbers);
    for (const auto form : {mixed_end, capital_end}) {
      size_t end = prefix ? form(text, at + first.size) : kNoMatch;
      if (end == kNoMatch) {
        end = form(text, at);
      }
      if (end != kNoMatch) {
        const size_t contracted = contraction_end(text, end, true);
        return contracted != kNoMatch ? contracted : end;
      }
    }
    return kNoMatch;
  }

  static size_t end_of(const Scan& text, size_t at) {
    if (const size_t end = word_end(text, at); end != kNoMatch) {
      return end;
    }
    if (text[at].is_number()) {
      return up_to(text, at, kNumbers, 3);
    }
    if (const size_t end = signs_end(text, at, "\r\n/"); end != kNoMatch) {
      return end;
    }
    return lines_end(text, at);
  }
};

// DeepSeek V3 splits off numbers, then Chinese and kana, and then the rest by the third expression.
struct NumbersScanner {
  static size_t end_of(const Scan& text, size_t at) {
    const size_t end = up_to(text, at, kNumbers, 3);
    return end > at ? end : kNoMatch;
  }
};

struct DeepseekScanner {
  static size_t end_of(const Scan& text, size_t at) {
    constexpr Categories kWord = kLetters | kMarks;
    constexpr Categories kSign = kPunctuation | kSymbols;
    const auto is_ascii_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const Seen first = text[at];
    if (first.size == 1 && first.record.is_punctuation() && !text.at_end(at + 1) &&
        is_ascii_letter(text.byte(at + 1))) {
      size_t end = at + 1;
      while (!text.at_end(end) && is_ascii_letter(text.byte(end))) {
        ++end;
      }
      return end;
    }
    if (!first.is_line_break() && !first.record.in(kLetters | kSign)) {
      const size_t end = text.run_in(at + first.size, kWord);
      if (end > at + first.size) {
        return end;
      }
    }
    if (first.record.in(kWord)) {
      return text.run_in(at, kWord);
    }
    const size_t begin = text.is(at, ' ') ? at + 1 : at;
    if (size_t end = text.run_in(begin, kSign); end > begin) {
      while (text.is(end, '\r') || text.is(end, '\n')) {
        ++end;
      }
      return end;
    }
    return first.is_space() ? lines_end(text, at) : kNoMatch;
  }
};

// \w+|[^\w\s]+
struct WordsScanner {
  static size_t end_of(const Scan& text, size_t at) {
    const Seen first = text[at];
    if (first.is_space()) {
      return kNoMatch;
    }
    return first.record.is_word() ? text.run(at, [](const Seen& c) { return c.record.is_word(); })
                                  : text.run(at, [](const Seen& c) { return !c.record.is_word() && !c.is_space(); });
  }
};

template <class Scanner>
class ScannerPattern final : public Pattern {
 public:
  void find_all(std::string_view text, std::vector<ByteRange>& matches) const override {
    const Scan scan(text);
    for (size_t at = 0; at < text.size();) {
      const size_t end = Scanner::end_of(scan, at);
      if (end == kNoMatch) {
        at += character_size(text[at]);
      } else {
        matches.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(end)});
        at = end;
      }
    }
  }
};

using MakeScanner = std::unique_ptr<Pattern> (*)();

template <class Scanner>
std::unique_ptr<Pattern> scanner_of() {
  return std::make_unique<ScannerPattern<Scanner>>();
}

struct KnownExpression {
  std::string_view text;
  MakeScanner make;
};

constexpr std::array kKnownExpressions{
    KnownExpression{kByteLevelExpression, scanner_of<Gpt2Scanner>},
    KnownExpression{R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
                    R"(\s*[\r\n]+|\s+(?!\S)|\s+)",
                    scanner_of<Llama3Scanner<3>>},
    KnownExpression{R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
                    R"(\s*[\r\n]+|\s+(?!\S)|\s+)",
                    scanner_of<Llama3Scanner<1>>},
    KnownExpression{R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
                    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
                    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
                    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
                    scanner_of<O200kScanner>},
    KnownExpression{R"(\p{N}{1,3})", scanner_of<NumbersScanner>},
    KnownExpression{"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
                    " ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
                    scanner_of<DeepseekScanner>},
};

}  // namespace

std::unique_ptr<Pattern> make_scanner(std::string_view expression) {
  for (const KnownExpression& known : kKnownExpressions) {
    if (known.text == expression) {
      return known.make();
    }
  }
  return nullptr;
}

std::unique_ptr<Pattern> make_words_pattern() { return scanner_of<WordsScanner>(); }

}  // namespace heed::huggingface
