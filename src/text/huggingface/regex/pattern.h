// What a tokenizer.json finds in text: a fixed text, or a regular expression.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/huggingface/aligned_text.h"

namespace heed::huggingface {

class Pattern {
 public:
  virtual ~Pattern() = default;
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // Appends the matches from left to right; they do not overlap. FormatError when finding them takes too many steps.
  virtual void find_all(std::string_view text, std::vector<ByteRange>& matches) const = 0;

 protected:
  Pattern() = default;
};

// Matches `text`, which is not empty.
std::unique_ptr<Pattern> make_literal_pattern(std::string text);

// An expression in Oniguruma's syntax. Those that published models use run as scanners of their own, any other on a
// backtracking engine with a limit of steps. FormatError names `where` when it is not an expression that heed knows.
std::unique_ptr<Pattern> make_regex_pattern(std::string_view expression, std::string_view where);

// The scanner of one of the known expressions; null for any other.
std::unique_ptr<Pattern> make_scanner(std::string_view expression);

// Never a scanner: for tests.
std::unique_ptr<Pattern> make_backtracking_pattern(std::string_view expression, std::string_view where);

// GPT-2's expression, which the byte-level pre-tokenizer uses, and \w+|[^\w\s]+ with Rust's classes.
inline constexpr std::string_view kByteLevelExpression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
std::unique_ptr<Pattern> make_words_pattern();

}  // namespace heed::huggingface
