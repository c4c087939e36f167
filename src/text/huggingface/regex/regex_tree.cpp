#include "text/huggingface/regex/regex_tree.h"

#include <string>
#include <utility>

#include "base/errors.h"
#include "text/unicode/unicode.h"

namespace heed::huggingface {
namespace {

using Kind = RegexNode::Kind;

constexpr uint32_t kMaxRepeat = 100'000;  // as Oniguruma
constexpr int kMaxDepth = 200;
constexpr size_t kMaxCharacters = 10'000;

RegexNode set_node(CodePoints set) {
  RegexNode node{.kind = Kind::set, .parts = {}, .set = std::move(set)};
  return node;
}

class RegexTreeParser {
 public:
  RegexTreeParser(std::string_view expression, std::string_view where)
      : text_(to_code_points(expression)), where_(where) {}

  RegexNode parse() {
    require<FormatError>(text_.size() <= kMaxCharacters, where_,
                         "the regular expression has {} characters, at most {} are allowed", text_.size(),
                         kMaxCharacters);
    RegexNode tree = choice();
    require_here(at_ == text_.size(), "a ')' without its '('");
    return tree;
  }

 private:
  struct Options {
    bool any_case = false, dot_all = false, extended = false;
  };

  void require_here(bool good, std::string_view problem) const {
    require<FormatError>(good, where_, "the regular expression has {} at character {}", problem, at_ + 1);
  }

  bool done() const { return at_ == text_.size(); }
  char32_t peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : U'\0'; }
  char32_t take() {
    require_here(!done(), "no end");
    return text_[at_++];
  }
  bool take_if(std::u32string_view text) {
    if (std::u32string_view(text_).substr(at_).starts_with(text)) {
      at_ += text.size();
      return true;
    }
    return false;
  }

  RegexNode choice() {
    require_here(++depth_ < kMaxDepth, "too many groups inside each other");
    const Options outside = options_;
    RegexNode node{.kind = Kind::choice, .parts = {}, .set = {}};
    node.parts.push_back(sequence());
    while (take_if(U"|")) {
      node.parts.push_back(sequence());
    }
    options_ = outside;
    --depth_;
    return node.parts.size() == 1 ? std::move(node.parts.front()) : node;
  }

  RegexNode sequence() {
    RegexNode node{.kind = Kind::sequence, .parts = {}, .set = {}};
    while (!done() && peek() != U'|' && peek() != U')') {
      if (options_.extended && skip_extended()) {
        continue;
      }
      RegexNode part = atom();
      for (int nested = 0; quantify(part); ++nested) {
        require_here(nested < kMaxDepth, "too many repetitions of each other");
      }
      node.parts.push_back(std::move(part));
    }
    return node;
  }

  bool skip_extended() {
    if (peek() == U'#') {
      while (!done() && peek() != U'\n') {
        ++at_;
      }
      return true;
    }
    if (peek() == U' ' || peek() == U'\t' || peek() == U'\n' || peek() == U'\r') {
      ++at_;
      return true;
    }
    return false;
  }

  std::optional<uint32_t> number() {
    std::optional<uint32_t> value;
    while (peek() >= U'0' && peek() <= U'9') {
      value = value.value_or(0) * 10 + (take() - U'0');
      require_here(*value <= kMaxRepeat, "too large a number");
    }
    return value;
  }

  // {m} {m,} {,n} {m,n}; anything else in braces is text.
  bool interval(uint32_t& least, uint32_t& most) {
    const size_t begin = at_;
    if (!take_if(U"{")) {
      return false;
    }
    const std::optional<uint32_t> low = number();
    std::optional<uint32_t> high = low;
    const bool comma = take_if(U",");
    if (comma) {
      high = number();
    }
    if ((!low && !high) || !take_if(U"}")) {
      at_ = begin;
      return false;
    }
    least = low.value_or(0);
    most = high.value_or(RegexNode::kAny);
    require_here(least <= most, "a repetition whose least is above its most");
    return true;
  }

  bool quantify(RegexNode& part) {
    uint32_t least = 0, most = RegexNode::kAny;
    bool braces = false;
    if (take_if(U"*")) {
    } else if (take_if(U"+")) {
      least = 1;
    } else if (take_if(U"?")) {
      most = 1;
    } else if (interval(least, most)) {
      braces = true;
    } else {
      return false;
    }
    RegexNode repeat{.kind = Kind::repeat, .parts = {}, .set = {}, .least = least, .most = most};
    if (take_if(U"?")) {
      repeat.greed = RegexNode::Greed::lazy;
    } else if (!braces && take_if(U"+")) {
      repeat.greed = RegexNode::Greed::possessive;
    }
    repeat.parts.push_back(std::move(part));
    part = std::move(repeat);
    return true;
  }

  RegexNode character(char32_t c) const {
    const CodePoints set = CodePoints::of(c, c);
    return set_node(options_.any_case ? set.in_any_case() : set);
  }

  RegexNode atom() {
    switch (const char32_t c = take()) {
      case U'(':
        return group();
      case U'[':
        return set_node(bracket());
      case U'.':
        return set_node(options_.dot_all ? CodePoints::of(0, 0x10ffff) : CodePoints::of('\n', '\n').inverted());
      case U'^':
        return {.kind = Kind::line_begin, .parts = {}, .set = {}};
      case U'$':
        return {.kind = Kind::line_end, .parts = {}, .set = {}};
      case U'\\':
        return escape();
      case U'*':
      case U'+':
      case U'?':
        --at_;
        require_here(false, "nothing to repeat");
        [[fallthrough]];
      default:
        return character(c);
    }
  }

  RegexNode wrapped(RegexNode node) {
    node.parts.push_back(choice());
    require_here(take_if(U")"), "a '(' without its ')'");
    return node;
  }

  RegexNode group() {
    if (!take_if(U"?")) {
      return wrapped({});
    }
    if (take_if(U"#")) {
      while (take() != U')') {
      }
      return {};
    }
    if (take_if(U":")) {
      return wrapped({});
    }
    if (take_if(U">")) {
      return wrapped({.kind = Kind::atomic, .parts = {}, .set = {}});
    }
    for (const bool behind : {false, true}) {
      if (take_if(behind ? U"<=" : U"=") || take_if(behind ? U"<!" : U"!")) {
        RegexNode look{.kind = Kind::look, .parts = {}, .set = {}};
        look.negated = text_[at_ - 1] == U'!';
        look.behind = behind;
        return wrapped(std::move(look));
      }
    }
    if (take_if(U"<") || take_if(U"P<")) {
      while (take() != U'>') {
      }
      return wrapped({});
    }
    return group_with_options();
  }

  // (?i) holds up to the end of the group around it, (?i:...) inside.
  RegexNode group_with_options() {
    const Options outside = options_;
    bool value = true;
    while (true) {
      switch (take()) {
        case U'-':
          value = false;
          break;
        case U'i':
          options_.any_case = value;
          break;
        case U'm':
          options_.dot_all = value;
          break;
        case U'x':
          options_.extended = value;
          break;
        case U')': {
          RegexNode rest = choice_after_options();
          return rest;
        }
        case U':': {
          RegexNode node = wrapped({});
          options_ = outside;
          return node;
        }
        default:
          --at_;
          require_here(false, "a group of a kind that heed does not know");
      }
    }
  }

  // In a|(?i)b|c the option holds for c too: Oniguruma reads a|(?i:b|c).
  RegexNode choice_after_options() {
    const Options inside = options_;
    RegexNode node = choice();
    options_ = inside;
    return node;
  }

  char32_t hexadecimal(size_t least, size_t most) {
    char32_t value = 0;
    size_t digits = 0;
    for (; digits < most; ++digits) {
      const char32_t c = peek();
      const char32_t digit = c >= U'0' && c <= U'9'   ? c - U'0'
                             : c >= U'a' && c <= U'f' ? c - U'a' + 10
                             : c >= U'A' && c <= U'F' ? c - U'A' + 10
                                                      : 16;
      if (digit == 16) {
        break;
      }
      value = value * 16 + digit;
      ++at_;
    }
    require_here(digits >= least && value <= 0x10ffff, "no hexadecimal code of a character");
    return value;
  }

  CodePoints property(bool negated) {
    require_here(take_if(U"{"), "a property without '{'");
    if (take_if(U"^")) {
      negated = !negated;
    }
    std::u32string name;
    while (peek() != U'}') {
      name += take();
    }
    ++at_;
    const std::optional<CodePoints> found = code_points_with(to_utf8(name));
    require<FormatError>(found.has_value(), where_, "the regular expression asks for the unknown property \\p{{{}}}",
                         to_utf8(name));
    return negated ? found->inverted() : *found;
  }

  // What stands for several characters, after a backslash; nullopt for one character.
  std::optional<CodePoints> class_escape() {
    const char32_t c = peek();
    const auto either = [&](CodePoints set, char32_t positive) {
      ++at_;
      return c == positive ? std::move(set) : set.inverted();
    };
    switch (c) {
      case U'd':
      case U'D':
        return either(CodePoints::in(bit_of(Category::nd)), U'd');
      case U'w':
      case U'W':
        return either(word_code_points(), U'w');
      case U's':
      case U'S':
        return either(space_code_points(), U's');
      case U'h':
      case U'H': {
        CodePoints digits = CodePoints::of('0', '9');
        digits.add(CodePoints::of('a', 'f'));
        digits.add(CodePoints::of('A', 'F'));
        return either(digits, U'h');
      }
      case U'p':
      case U'P':
        ++at_;
        return property(c == U'P');
      default:
        return std::nullopt;
    }
  }

  char32_t single_escape() {
    const char32_t c = take();
    switch (c) {
      case U'n':
        return U'\n';
      case U't':
        return U'\t';
      case U'r':
        return U'\r';
      case U'f':
        return U'\f';
      case U'v':
        return U'\v';
      case U'a':
        return U'\a';
      case U'e':
        return U'\x1b';
      case U'0':
        return U'\0';
      case U'u':
        return hexadecimal(4, 4);
      case U'x': {
        if (!take_if(U"{")) {
          return hexadecimal(1, 2);
        }
        const char32_t value = hexadecimal(1, 8);
        require_here(take_if(U"}"), "a code without '}'");
        return value;
      }
      default:
        break;
    }
    const bool letter = (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z') || (c >= U'1' && c <= U'9');
    require_here(!letter, "an escape that heed does not know");
    return c;
  }

  RegexNode escape() {
    const auto mark = [&](Kind kind, bool negated = false) {
      ++at_;
      RegexNode node{.kind = kind, .parts = {}, .set = {}};
      node.negated = negated;
      return node;
    };
    switch (peek()) {
      case U'A':
        return mark(Kind::text_begin);
      case U'z':
        return mark(Kind::text_end);
      case U'Z':
        return mark(Kind::text_end_line);
      case U'G':
        return mark(Kind::last_end);
      case U'b':
        return mark(Kind::word_border);
      case U'B':
        return mark(Kind::word_border, true);
      default:
        break;
    }
    if (std::optional<CodePoints> set = class_escape()) {
      return set_node(options_.any_case ? set->in_any_case() : std::move(*set));
    }
    return character(single_escape());
  }

  std::optional<CodePoints> posix_bracket() {
    const size_t begin = at_;
    if (!take_if(U"[:")) {
      return std::nullopt;
    }
    const bool negated = take_if(U"^");
    std::u32string name;
    while (peek() >= U'a' && peek() <= U'z') {
      name += take();
    }
    if (!take_if(U":]")) {
      at_ = begin;
      return std::nullopt;
    }
    const std::string plain = to_utf8(name);
    std::optional<CodePoints> set;
    if (plain == "upper" || plain == "lower") {
      set = CodePoints::in(bit_of(plain == "upper" ? Category::lu : Category::ll));
    } else if (plain == "punct") {
      set = CodePoints::in(kPunctuation | kSymbols);
    } else {
      set = code_points_with(plain);
    }
    require<FormatError>(set.has_value(), where_, "the regular expression asks for the unknown class [:{}:]", plain);
    return negated ? set->inverted() : *set;
  }

  // After '[', up to and with ']'.
  CodePoints bracket() {
    require_here(++depth_ < kMaxDepth, "too many brackets inside each other");
    const bool negated = take_if(U"^");
    CodePoints all, part;
    bool intersect = false;
    const auto end_part = [&] { all = intersect ? all.common_with(part) : part; };
    for (bool first = true;; first = false) {
      require_here(!done(), "a '[' without its ']'");
      if (peek() == U']' && !first) {
        ++at_;
        break;
      }
      if (take_if(U"&&")) {
        end_part();
        intersect = true;
        part = CodePoints();
        continue;
      }
      part.add(bracket_item());
    }
    end_part();
    if (options_.any_case) {
      all = all.in_any_case();
    }
    --depth_;
    return negated ? all.inverted() : all;
  }

  CodePoints bracket_item() {
    if (const std::optional<CodePoints> posix = posix_bracket()) {
      return *posix;
    }
    if (take_if(U"[")) {
      return bracket();
    }
    const bool escaped = take_if(U"\\");
    if (escaped) {
      if (std::optional<CodePoints> set = class_escape()) {
        return std::move(*set);
      }
    }
    const char32_t first = escaped ? bracket_escape() : take();
    if (peek() != U'-' || peek(1) == U']' || peek(1) == U'\0') {
      return CodePoints::of(first, first);
    }
    ++at_;
    const size_t begin = at_;
    const bool last_escaped = take_if(U"\\");
    if (peek() == U'[' || (last_escaped && class_escape())) {
      at_ = begin - 1;  // the hyphen is a character
      return CodePoints::of(first, first);
    }
    const char32_t last = last_escaped ? bracket_escape() : take();
    require_here(first <= last, "a range whose first is above its last");
    return CodePoints::of(first, last);
  }

  char32_t bracket_escape() { return take_if(U"b") ? U'\b' : single_escape(); }

  std::u32string text_;
  std::string_view where_;
  size_t at_ = 0;
  int depth_ = 0;
  Options options_;
};

}  // namespace

RegexNode parse_regex_tree(std::string_view expression, std::string_view where) {
  return RegexTreeParser(expression, where).parse();
}

}  // namespace heed::huggingface
