#include "text/patterns/regex_expression.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/errors.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr int64_t kMaxRepeats = 1000;
constexpr int kMaxDepth = 200;

// Sorted, without what overlaps.
CodePointSet tidy(CodePointSet set) {
  std::ranges::sort(set, {}, &CodePoints::first);
  CodePointSet merged;
  for (const CodePoints& range : set) {
    if (!merged.empty() && range.first <= merged.back().last + 1) {
      merged.back().last = std::max(merged.back().last, range.last);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

CodePointSet complement(const CodePointSet& set) {
  CodePointSet rest;
  char32_t next = 0;
  for (const CodePoints& range : tidy(set)) {
    if (range.first > next) {
      rest.push_back({next, range.first - 1});
    }
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) {
    rest.push_back({next, kLastCodePoint});
  }
  return rest;
}

class RegexParser {
 public:
  explicit RegexParser(std::string_view text) : text_(to_code_points(text)) {}

  RegexExpression parse() {
    RegexExpression all = choice();
    if (!at_end()) {
      refuse("')' without '('");
    }
    return all;
  }

 private:
  bool at_end() const { return at_ == text_.size(); }
  bool sees(char32_t c) const { return !at_end() && text_[at_] == c; }
  bool take(char32_t c) { return sees(c) && (++at_, true); }

  [[noreturn]] void refuse(std::string_view what) const { refuse(at_, what); }

  [[noreturn]] static void refuse(size_t at, std::string_view what) {
    fail<ConfigError>("regular expression", "at character {}: {}", at + 1, what);
  }

  RegexExpression choice() {
    if (++depth_ > kMaxDepth) {
      refuse("too many groups inside each other");
    }
    RegexExpression all{.kind = RegexExpression::Kind::choice, .parts = {}, .set = {}};
    do {
      all.parts.push_back(sequence());
    } while (take('|'));
    --depth_;
    return all;
  }

  RegexExpression sequence() {
    RegexExpression all{.parts = {}, .set = {}};
    while (!at_end() && !sees('|') && !sees(')')) {
      if ((sees('^') && at_ == 0) || (sees('$') && at_ + 1 == text_.size())) {
        ++at_;
        continue;
      }
      all.parts.push_back(repeated(atom()));
    }
    return all;
  }

  RegexExpression repeated(RegexExpression part) {
    const size_t begin = at_;
    int64_t least = 0, most = 0;
    if (take('*')) {
      most = RegexExpression::kAny;
    } else if (take('+')) {
      least = 1;
      most = RegexExpression::kAny;
    } else if (take('?')) {
      most = 1;
    } else if (take('{')) {
      least = number();
      most = !take(',') ? least : sees('}') ? RegexExpression::kAny : number();
      if (!take('}')) {
        refuse("a '}' is missing");
      }
      if (most != RegexExpression::kAny && most < least) {
        refuse(begin, "the maximum number of repeats is below the minimum");
      }
    } else {
      return part;
    }
    take('?');  // a lazy repeat matches the same texts
    if (sees('*') || sees('+') || sees('{')) {
      refuse("a repeat of a repeat: put the inner one in ( )");
    }
    RegexExpression all{.kind = RegexExpression::Kind::repeat, .parts = {}, .set = {}, .least = least, .most = most};
    all.parts.push_back(std::move(part));
    return all;
  }

  int64_t number() {
    const size_t begin = at_;
    int64_t value = -1;
    for (; !at_end() && text_[at_] >= '0' && text_[at_] <= '9' && value <= kMaxRepeats; ++at_) {
      value = std::max<int64_t>(0, value) * 10 + static_cast<int64_t>(text_[at_] - '0');
    }
    if (value < 0 || value > kMaxRepeats) {
      refuse(begin, fmt::format("expected a number of repeats, at most {}", kMaxRepeats));
    }
    return value;
  }

  RegexExpression atom() {
    if (take('(')) {
      if (take('?') && !take(':')) {
        refuse(at_ - 2, "only groups ( ) and (?: ) are known");
      }
      RegexExpression group = choice();
      if (!take(')')) {
        refuse("a ')' is missing");
      }
      return group;
    }
    if (take('[')) {
      return of(brackets());
    }
    if (take('.')) {
      return of(complement({{'\n', '\n'}}));
    }
    if (take('\\')) {
      return of(escape());
    }
    for (const char32_t sign : {U'*', U'+', U'?', U'{'}) {
      if (sees(sign)) {
        refuse("there is nothing to repeat; write \\ before it to match the character itself");
      }
    }
    for (const char32_t sign : {U'^', U'$', U'}', U']'}) {
      if (sees(sign)) {
        refuse("write \\ before it to match the character itself");
      }
    }
    const char32_t c = text_[at_++];
    return of({{c, c}});
  }

  static RegexExpression of(CodePointSet set) {
    return {.kind = RegexExpression::Kind::set, .parts = {}, .set = tidy(std::move(set))};
  }

  CodePointSet brackets() {
    const bool negated = take('^');
    CodePointSet set;
    for (bool first = true; first || !sees(']'); first = false) {
      if (at_end()) {
        refuse("a ']' is missing");
      }
      const size_t begin = at_;
      const CodePointSet from = member();
      if (!sees('-') || at_ + 1 >= text_.size() || text_[at_ + 1] == ']') {
        set.insert(set.end(), from.begin(), from.end());
        continue;
      }
      ++at_;
      const CodePointSet to = member();
      if (!is_single(from) || !is_single(to) || to.front().first < from.front().first) {
        refuse(begin, "a range that does not go up");
      }
      set.push_back({from.front().first, to.front().first});
    }
    ++at_;
    return negated ? complement(set) : set;
  }

  static bool is_single(const CodePointSet& set) { return set.size() == 1 && set.front().first == set.front().last; }

  CodePointSet member() {
    if (take('\\')) {
      return escape();
    }
    if (at_end()) {
      refuse("a ']' is missing");
    }
    const char32_t c = text_[at_++];
    return {{c, c}};
  }

  CodePointSet escape() {
    if (at_end()) {
      refuse("a character is missing after \\");
    }
    const size_t begin = at_ - 1;
    const char32_t c = text_[at_++];
    static const CodePointSet kDigits{{'0', '9'}}, kWord{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
        kSpaces{{'\t', '\r'}, {' ', ' '}};
    static const std::map<char32_t, CodePointSet> kEscapes{{'d', kDigits},           {'w', kWord},
                                                           {'s', kSpaces},           {'D', complement(kDigits)},
                                                           {'W', complement(kWord)}, {'S', complement(kSpaces)},
                                                           {'n', {{'\n', '\n'}}},    {'t', {{'\t', '\t'}}},
                                                           {'r', {{'\r', '\r'}}},    {'f', {{'\f', '\f'}}},
                                                           {'v', {{'\v', '\v'}}}};
    if (const auto found = kEscapes.find(c); found != kEscapes.end()) {
      return found->second;
    }
    if (c == 'x' || c == 'u') {
      const char32_t value = hexadecimal(c == 'x' ? 2 : 4);
      return {{value, value}};
    }
    if (c < 0x80 && ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))) {
      refuse(begin, "unknown escape");
    }
    return {{c, c}};
  }

  char32_t hexadecimal(size_t digits) {
    const bool braces = digits == 2 && take('{');
    char32_t value = 0;
    size_t found = 0;
    for (; !at_end() && found < (braces ? 6 : digits); ++found, ++at_) {
      const char32_t c = text_[at_];
      const char32_t digit = c >= '0' && c <= '9'   ? c - '0'
                             : c >= 'a' && c <= 'f' ? c - 'a' + 10
                             : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                    : 16;
      if (digit == 16) {
        break;
      }
      value = value * 16 + digit;
    }
    if (found == 0 || (!braces && found < digits) || (braces && !take('}')) || value > kLastCodePoint) {
      refuse("expected a code point in hexadecimal digits");
    }
    return value;
  }

  std::u32string text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

RegexExpression parse_regex(std::string_view expression) { return RegexParser(expression).parse(); }

}  // namespace heed
