#include "eval/words.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_stop(char c) { return c == '.' || c == ','; }

// ASCII punctuation and symbols, as Python's string.punctuation.
bool is_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Punctuation that 13a always separates. Periods, commas and hyphens depend on their neighbours; the apostrophe stays.
bool stands_alone(char c) { return is_punctuation(c) && !is_stop(c) && c != '-' && c != '\''; }

// The bytes of the white space that begins at `at`, or 0.
size_t white_space_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t offset) {
    return at + offset < text.size() ? static_cast<unsigned char>(text[at + offset]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) {
    return (first >= 0x09 && first <= 0x0d) || (first >= 0x1c && first <= 0x20) ? 1 : 0;
  }
  if (first == 0xc2) {  // U+0085, U+00A0
    return byte(1) == 0x85 || byte(1) == 0xa0 ? 2 : 0;
  }
  if (first < 0xe1 || first > 0xe3) {
    return 0;
  }
  const unsigned code_point = (first & 0xfU) << 12 | (byte(1) & 0x3fU) << 6 | (byte(2) & 0x3fU);
  const bool white = code_point == 0x1680 || (code_point >= 0x2000 && code_point <= 0x200a) || code_point == 0x2028 ||
                     code_point == 0x2029 || code_point == 0x202f || code_point == 0x205f || code_point == 0x3000;
  return white ? 3 : 0;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  size_t at = text.find(from);
  if (at == std::string::npos) {
    return;
  }
  std::string replaced;
  size_t start = 0;
  for (; at != std::string::npos; at = text.find(from, start)) {
    replaced.append(text, start, at - start).append(to);
    start = at + from.size();
  }
  text = replaced.append(text, start);
}

// Goes over the text from left to right. Where `splits` holds for two neighbours, `write` writes both, and the search
// goes on after them, as after a match of a regular expression. It compares bytes: the only question about a neighbour
// is whether it is a certain ASCII character, which no byte of a longer character is.
template <class Splits, class Write>
std::string rewrite_pairs(const std::string& text, Splits splits, Write write) {
  std::string rewritten;
  rewritten.reserve(2 * text.size());
  for (size_t i = 0; i < text.size();) {
    if (i + 1 < text.size() && splits(text[i], text[i + 1])) {
      write(rewritten, text[i], text[i + 1]);
      i += 2;
    } else {
      rewritten += text[i++];
    }
  }
  return rewritten;
}

}  // namespace

std::string in_case(std::string_view text, LetterCase letters) {
  const std::optional<size_t> invalid = find_invalid_utf8(text);
  require<FormatError>(!invalid, "text", "byte {} is not UTF-8", invalid.value_or(0));
  return letters == LetterCase::lower ? to_lower_case(text) : std::string(text);
}

std::vector<std::string_view> split_at_white_space(std::string_view text) {
  std::vector<std::string_view> words;
  size_t start = 0;
  for (size_t i = 0; i < text.size();) {
    if (const size_t white = white_space_at(text, i)) {
      if (i > start) {
        words.push_back(text.substr(start, i - start));
      }
      i += white;
      start = i;
    } else {
      ++i;
    }
  }
  if (start < text.size()) {
    words.push_back(text.substr(start));
  }
  return words;
}

std::string tokenize_13a(std::string_view line) {
  std::string text(line);
  // The order matters: "&amp;lt;" becomes "<".
  constexpr std::pair<std::string_view, std::string_view> kReplacements[] = {
      {"<skipped>", ""}, {"-\n", ""}, {"\n", " "}, {"&quot;", "\""}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}};
  for (const auto& [from, to] : kReplacements) {
    replace_all(text, from, to);
  }

  std::string spaced = " ";
  spaced.reserve(2 * text.size() + 2);
  for (const char c : text) {
    stands_alone(c) ? spaced.append({' ', c, ' '}) : spaced.append(1, c);
  }
  spaced += ' ';

  // First periods and commas that no digit precedes; then those that no digit follows; then hyphens after a digit.
  spaced = rewrite_pairs(
      spaced, [](char a, char b) { return !is_digit(a) && is_stop(b); },
      [](std::string& out, char a, char b) {
        out.append({a, ' ', b, ' '});
      });
  spaced = rewrite_pairs(
      spaced, [](char a, char b) { return is_stop(a) && !is_digit(b); },
      [](std::string& out, char a, char b) {
        out.append({' ', a, ' ', b});
      });
  return rewrite_pairs(
      spaced, [](char a, char b) { return is_digit(a) && b == '-'; },
      [](std::string& out, char a, char b) {
        out.append({a, ' ', b, ' '});
      });
}

std::vector<std::string_view> split_punctuation(std::string_view text) {
  std::vector<std::string_view> pieces;
  for (const std::string_view word : split_at_white_space(text)) {
    if (word.size() > 1 && is_punctuation(word.back())) {
      pieces.push_back(word.substr(0, word.size() - 1));
      pieces.push_back(word.substr(word.size() - 1));
    } else if (word.size() > 1 && is_punctuation(word.front())) {
      pieces.push_back(word.substr(0, 1));
      pieces.push_back(word.substr(1));
    } else {
      pieces.push_back(word);
    }
  }
  return pieces;
}

}  // namespace heed
