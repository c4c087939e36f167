// Regular expressions: parsed into a tree, which becomes an automaton with many possible next states, which becomes one
// with a single next state for each byte.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/errors.h"
#include "text/byte_automaton.h"
#include "text/unicode.h"

namespace heed {
namespace {

constexpr char32_t kLastCodePoint = 0x10FFFF;
constexpr int64_t kMaxRepeats = 1000;
constexpr int kMaxDepth = 200;
constexpr size_t kMaxPieces = 200'000, kMaxStates = 100'000, kMaxWork = 50'000'000;

struct CodePoints {
  char32_t first, last;
};
using CodePointSet = std::vector<CodePoints>;

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

struct Expression {
  enum class Kind : uint8_t { sequence, choice, repeat, set };
  Kind kind = Kind::sequence;
  std::vector<Expression> parts;       // of a repeat: one
  CodePointSet set;                    // sorted
  int64_t least = 0, most = 0;         // repeats
  static constexpr int64_t kAny = -1;  // no limit
};

class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : text_(to_code_points(text)) {}

  Expression parse() {
    Expression all = choice();
    if (!at_end()) {
      refuse("')' without '('");
    }
    return all;
  }

 private:
  bool at_end() const { return at_ == text_.size(); }
  bool sees(char32_t c) const { return !at_end() && text_[at_] == c; }
  bool take(char32_t c) { return sees(c) && (++at_, true); }

  [[noreturn]] void refuse(std::string_view what) const {
    fail<ConfigError>("regular expression", "at character {}: {}", at_ + 1, what);
  }

  Expression choice() {
    if (++depth_ > kMaxDepth) {
      refuse("too many groups inside each other");
    }
    Expression all{.kind = Expression::Kind::choice, .parts = {}, .set = {}};
    do {
      all.parts.push_back(sequence());
    } while (take('|'));
    --depth_;
    return all;
  }

  Expression sequence() {
    Expression all{.parts = {}, .set = {}};
    while (!at_end() && !sees('|') && !sees(')')) {
      if ((sees('^') && at_ == 0) || (sees('$') && at_ + 1 == text_.size())) {
        ++at_;
        continue;
      }
      all.parts.push_back(repeated(atom()));
    }
    return all;
  }

  Expression repeated(Expression part) {
    int64_t least = 0, most = 0;
    if (take('*')) {
      most = Expression::kAny;
    } else if (take('+')) {
      least = 1;
      most = Expression::kAny;
    } else if (take('?')) {
      most = 1;
    } else if (take('{')) {
      least = number();
      most = !take(',') ? least : sees('}') ? Expression::kAny : number();
      if (!take('}')) {
        refuse("a '}' is missing");
      }
      if (most != Expression::kAny && most < least) {
        refuse("the maximum number of repeats is below the minimum");
      }
    } else {
      return part;
    }
    take('?');  // a lazy repeat matches the same texts
    if (sees('*') || sees('+') || sees('{')) {
      refuse("a repeat of a repeat: put the inner one in ( )");
    }
    Expression all{.kind = Expression::Kind::repeat, .parts = {}, .set = {}, .least = least, .most = most};
    all.parts.push_back(std::move(part));
    return all;
  }

  int64_t number() {
    int64_t value = -1;
    for (; !at_end() && text_[at_] >= '0' && text_[at_] <= '9' && value <= kMaxRepeats; ++at_) {
      value = std::max<int64_t>(0, value) * 10 + static_cast<int64_t>(text_[at_] - '0');
    }
    if (value < 0 || value > kMaxRepeats) {
      refuse(fmt::format("expected a number of repeats, at most {}", kMaxRepeats));
    }
    return value;
  }

  Expression atom() {
    if (take('(')) {
      if (take('?') && !take(':')) {
        refuse("only groups ( ) and (?: ) are known");
      }
      Expression group = choice();
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
        refuse("there is nothing to repeat; write \\ before the sign itself");
      }
    }
    for (const char32_t sign : {U'^', U'$', U'}', U']'}) {
      if (sees(sign)) {
        refuse("write \\ before the sign itself");
      }
    }
    const char32_t c = text_[at_++];
    return of({{c, c}});
  }

  static Expression of(CodePointSet set) {
    return {.kind = Expression::Kind::set, .parts = {}, .set = tidy(std::move(set))};
  }

  CodePointSet brackets() {
    const bool negated = take('^');
    CodePointSet set;
    for (bool first = true; first || !sees(']'); first = false) {
      if (at_end()) {
        refuse("a ']' is missing");
      }
      const CodePointSet from = member();
      if (!sees('-') || at_ + 1 >= text_.size() || text_[at_ + 1] == ']') {
        set.insert(set.end(), from.begin(), from.end());
        continue;
      }
      ++at_;
      const CodePointSet to = member();
      if (!is_single(from) || !is_single(to) || to.front().first < from.front().first) {
        refuse("a range that does not go up");
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
      refuse("a sign is missing after \\");
    }
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
      --at_;
      refuse("unknown escape");
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

// A state that reads a byte, or goes to other states without one.
struct RegexPiece {
  uint8_t first = 1, last = 0;
  int32_t to = -1;            // after the byte
  std::vector<int32_t> free;  // without one
};

// Built from the end: each part knows the state that comes after it.
class RegexPieces {
 public:
  static constexpr int32_t kAccept = 0;

  RegexPieces() : pieces_(1) {}

  int32_t add(const Expression& expression, int32_t after) {
    require<ConfigError>(++parts_ <= kMaxPieces, "regular expression", "it is too large");
    switch (expression.kind) {
      case Expression::Kind::sequence:
        for (auto part = expression.parts.rbegin(); part != expression.parts.rend(); ++part) {
          after = add(*part, after);
        }
        return after;
      case Expression::Kind::choice: {
        std::vector<int32_t> starts;
        for (const Expression& part : expression.parts) {
          starts.push_back(add(part, after));
        }
        return any_of(std::move(starts));
      }
      case Expression::Kind::repeat:
        return repeat(expression, after);
      default:
        return read(expression.set, after);
    }
  }

  std::vector<RegexPiece> pieces() { return std::move(pieces_); }

 private:
  int32_t push(RegexPiece piece) {
    require<ConfigError>(pieces_.size() < kMaxPieces, "regular expression", "it is too large");
    pieces_.push_back(std::move(piece));
    return static_cast<int32_t>(pieces_.size()) - 1;
  }

  int32_t any_of(std::vector<int32_t> starts) {
    std::ranges::sort(starts);
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    return starts.size() == 1 ? starts.front() : push({.free = std::move(starts)});
  }

  int32_t repeat(const Expression& expression, int32_t after) {
    const Expression& part = expression.parts.front();
    int32_t start = after;
    if (expression.most == Expression::kAny) {
      start = push({.free = {}});
      const int32_t body = add(part, start);
      pieces_[static_cast<size_t>(start)].free = {body, after};
    }
    for (int64_t i = expression.least; i < expression.most; ++i) {
      start = any_of({add(part, start), after});
    }
    for (int64_t i = 0; i < expression.least; ++i) {
      start = add(part, start);
    }
    return start;
  }

  int32_t read(const CodePointSet& set, int32_t after) {
    std::vector<int32_t> starts;
    for (const CodePoints& range : set) {
      split(range.first, std::min<char32_t>(range.last, 0xD7FF), after, starts);
      split(std::max<char32_t>(range.first, 0xE000), range.last, after, starts);
    }
    return any_of(std::move(starts));
  }

  // Into ranges whose code points have UTF-8 of one range for each byte.
  void split(char32_t first, char32_t last, int32_t after, std::vector<int32_t>& starts) {
    if (first > last) {
      return;
    }
    for (const char32_t limit : {0x7F, 0x7FF, 0xFFFF}) {
      if (first <= limit && limit < last) {
        split(first, limit, after, starts);
        split(limit + 1, last, after, starts);
        return;
      }
    }
    const int size = first <= 0x7F ? 1 : first <= 0x7FF ? 2 : first <= 0xFFFF ? 3 : 4;
    for (int i = 1; i < size; ++i) {
      const char32_t low = (char32_t{1} << static_cast<unsigned>(6 * i)) - 1;
      if ((first & ~low) == (last & ~low)) {
        continue;
      }
      const char32_t at = (first & low) != 0 ? first | low : (last & low) != low ? (last & ~low) - 1 : last;
      if (at != last) {
        split(first, at, after, starts);
        split(at + 1, last, after, starts);
        return;
      }
    }
    const std::string from = to_utf8({&first, 1}), to = to_utf8({&last, 1});
    for (size_t i = from.size(); i-- > 0;) {
      after = push({static_cast<uint8_t>(from[i]), static_cast<uint8_t>(to[i]), after, {}});
    }
    starts.push_back(after);
  }

  std::vector<RegexPiece> pieces_;
  size_t parts_ = 0;  // of the expression, repeats counted
};

// Each state is the set of pieces that what was read can have led to.
class RegexStates {
 public:
  explicit RegexStates(std::vector<RegexPiece> pieces) : pieces_(std::move(pieces)), seen_(pieces_.size()) {}

  std::vector<ByteAutomaton::Node> build(int32_t start) {
    state_of({start});
    for (size_t i = 0; i < sets_.size(); ++i) {
      ByteAutomaton::Node node;
      node.accepts = std::ranges::binary_search(*sets_[i], RegexPieces::kAccept);
      add_edges(*sets_[i], node);
      nodes_.push_back(std::move(node));
    }
    return std::move(nodes_);
  }

 private:
  using Set = std::vector<int32_t>;

  void add_edges(const Set& set, ByteAutomaton::Node& node) {
    std::vector<int> borders;
    for (const int32_t piece : set) {
      if (piece != RegexPieces::kAccept) {
        borders.push_back(pieces_[static_cast<size_t>(piece)].first);
        borders.push_back(pieces_[static_cast<size_t>(piece)].last + 1);
      }
    }
    std::ranges::sort(borders);
    borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
    for (size_t b = 0; b + 1 < borders.size(); ++b) {
      Set next;
      for (const int32_t number : set) {
        const RegexPiece& piece = pieces_[static_cast<size_t>(number)];
        if (piece.first <= borders[b] && borders[b] <= piece.last) {
          next.push_back(piece.to);
        }
      }
      work_ += set.size();
      require<ConfigError>(work_ <= kMaxWork, "regular expression", "it is too large");
      if (!next.empty()) {
        node.edges.push_back(
            {static_cast<uint8_t>(borders[b]), static_cast<uint8_t>(borders[b + 1] - 1), state_of(std::move(next))});
      }
    }
  }

  ByteAutomaton::State state_of(Set to_visit) {
    Set set;
    ++visit_;
    while (!to_visit.empty()) {
      const int32_t number = to_visit.back();
      to_visit.pop_back();
      if (std::exchange(seen_[static_cast<size_t>(number)], visit_) == visit_) {
        continue;
      }
      const RegexPiece& piece = pieces_[static_cast<size_t>(number)];
      if (piece.to >= 0 || number == RegexPieces::kAccept) {
        set.push_back(number);
      }
      to_visit.insert(to_visit.end(), piece.free.begin(), piece.free.end());
      work_ += 1 + piece.free.size();
      require<ConfigError>(work_ <= kMaxWork, "regular expression", "it is too large");
    }
    std::ranges::sort(set);
    const auto [found, is_new] = states_.try_emplace(std::move(set), static_cast<int32_t>(states_.size()));
    if (is_new) {
      require<ConfigError>(states_.size() <= kMaxStates, "regular expression", "it is too large");
      sets_.push_back(&found->first);
    }
    return found->second;
  }

  std::vector<RegexPiece> pieces_;
  std::vector<int64_t> seen_;
  int64_t visit_ = 0;
  size_t work_ = 0;
  std::map<Set, ByteAutomaton::State> states_;
  std::vector<const Set*> sets_;
  std::vector<ByteAutomaton::Node> nodes_;
};

}  // namespace

ByteAutomaton automaton_of_regex(std::string_view expression) {
  require<ConfigError>(!find_invalid_utf8(expression), "regular expression", "it is not UTF-8");
  RegexPieces pieces;
  const int32_t start = pieces.add(ExpressionParser(expression).parse(), RegexPieces::kAccept);
  return ByteAutomaton(RegexStates(pieces.pieces()).build(start));
}

}  // namespace heed
