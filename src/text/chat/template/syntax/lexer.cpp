#include "text/chat/template/syntax/lexer.h"

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "text/chat/template/limits.h"
#include "text/chat/template/values/python_text.h"
#include "text/unicode/unicode.h"

namespace heed::chat {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (static_cast<unsigned char>(c) & 0x80U) != 0;
}
bool is_name_part(char c) { return begins_name(c) || is_digit(c); }

// With "\n" for each line end, and without the one at the end.
std::string with_plain_lines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t at = 0; at < source.size(); ++at) {
    if (source[at] == '\r') {
      text += '\n';
      at += at + 1 < source.size() && source[at + 1] == '\n' ? 1 : 0;
    } else {
      text += source[at];
    }
  }
  if (text.ends_with('\n')) {
    text.pop_back();
  }
  return text;
}

class Lexer {
 public:
  Lexer(std::string_view source, std::string_view where) : where_(where), source_(with_plain_lines(source)) {}

  std::vector<Token> tokens() {
    while (at_ < source_.size()) {
      text_until_tag();
    }
    add(Token::Kind::end, {});
    return std::move(tokens_);
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> message, Args&&... args) const {
    throw FormatError(fmt::format("{}:{}: {}", where_, line_, fmt::format(message, std::forward<Args>(args)...)));
  }

  bool sees(std::string_view text) const { return std::string_view(source_).substr(at_).starts_with(text); }
  char peek(size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  void skip(size_t bytes) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<int64_t>(at_),
                                         source_.begin() + static_cast<int64_t>(at_ + bytes), '\n'));
    at_ += bytes;
  }
  void skip_space() {
    while (at_ < source_.size() && is_space(character_at(source_, at_))) {
      skip(bytes_of_character(source_, at_));
    }
  }
  void add(Token::Kind kind, std::string text) {
    tokens_.push_back({.kind = kind, .line = line_, .text = std::move(text)});
  }

  void text_until_tag() {
    size_t tag = at_;
    do {
      tag = source_.find('{', tag);
    } while (tag != std::string::npos &&
             std::string_view("{%#").find(tag + 1 < source_.size() ? source_[tag + 1] : ' ') ==
                 std::string_view::npos &&
             ++tag != 0);
    const std::string_view text = std::string_view(source_).substr(at_, tag == std::string::npos ? tag : tag - at_);
    if (tag == std::string::npos) {
      add(Token::Kind::text, std::string(text));
      skip(text.size());
      return;
    }
    const char kind = source_[tag + 1], sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
    const bool signed_tag = sign == '-' || sign == '+';
    put_text(trimmed(text, kind, sign));
    skip(text.size());
    if (kind == '%' && raw(signed_tag ? 3 : 2)) {
      return;
    }
    skip(signed_tag ? 3 : 2);
    if (kind == '#') {
      comment();
    } else {
      add(kind == '%' ? Token::Kind::block_begin : Token::Kind::output_begin, {});
      inside(kind == '%' ? '%' : '}');
    }
  }

  void put_text(std::string_view text) {
    if (!text.empty()) {
      add(Token::Kind::text, std::string(text));
    }
  }

  // The text before a tag: '-' takes all white space away, and a tag that is not output takes what stands before it on
  // its line when that is white space alone, unless it says '+'.
  std::string_view trimmed(std::string_view text, char kind, char sign) const {
    if (sign == '-') {
      return strip(text, Side::right);
    }
    if (sign == '+' || kind == '{') {
      return text;
    }
    const size_t line = text.rfind('\n') + 1;  // 0 without a line end
    const bool whole_line = line > 0 || starts_line_;
    return whole_line && strip(text.substr(line), Side::both).empty() ? text.substr(0, line) : text;
  }

  // After "%}" and "#}": '-' takes all white space away that follows, and '+' nothing; otherwise a line end goes.
  void close(char sign) {
    skip(2);
    starts_line_ = false;
    if (sign == '-') {
      const size_t begin = at_;
      skip_space();
      starts_line_ = at_ > begin && source_[at_ - 1] == '\n';
    } else if (sign != '+' && peek() == '\n') {
      skip(1);
      starts_line_ = true;
    }
  }

  void comment() {
    const size_t end = source_.find("#}", at_);
    if (end == std::string::npos) {
      refuse("the comment has no end '#}}'");
    }
    const char sign = end > at_ && (source_[end - 1] == '-' || source_[end - 1] == '+') ? source_[end - 1] : ' ';
    skip(end - at_);
    close(sign);
  }

  // "{% raw %}", which begins at the current byte with an opening of so many bytes.
  bool raw(size_t opening) {
    const size_t begin = at_;
    const int line = line_;
    skip(opening);
    skip_space();
    const bool named = sees("raw");
    skip(named ? 3 : 0);
    skip_space();
    const bool cut = sees("-%}");
    if (!named || (!cut && !sees("%}"))) {
      at_ = begin;
      line_ = line;
      return false;
    }
    skip(cut ? 3 : 2);
    if (cut) {
      skip_space();
    }
    const size_t content = at_;
    for (size_t tag = source_.find("{%", at_); tag != std::string::npos; tag = source_.find("{%", tag + 1)) {
      skip(tag - at_);
      const char sign = peek(2);
      skip(sign == '-' || sign == '+' ? 3 : 2);
      skip_space();
      if (!sees("endraw")) {
        continue;
      }
      skip(6);
      skip_space();
      const char end_sign = peek() == '-' || peek() == '+' ? peek() : ' ';
      skip(end_sign == ' ' ? 0 : 1);
      if (sees("%}")) {
        starts_line_ = content > 0 && source_[content - 1] == '\n';
        put_text(trimmed(std::string_view(source_).substr(content, tag - content), '%', sign));
        close(end_sign);
        return true;
      }
    }
    refuse("'raw' has no 'endraw'");
  }

  void inside(char closing) {
    std::string open;
    const int begin = line_;
    while (true) {
      skip_space();
      if (at_ == source_.size()) {
        line_ = begin;
        refuse("the tag has no end '{}}}'", closing);
      }
      if (open.empty() && ends_tag(closing)) {
        return;
      }
      const char c = peek();
      if (c == '\'' || c == '"') {
        string(c);
      } else if (is_digit(c)) {
        number();
      } else if (begins_name(c)) {
        name();
      } else {
        symbol(open);
      }
    }
  }

  bool ends_tag(char closing) {
    const char end[] = {closing, '}', '\0'};
    const char sign = (peek() == '-' || (peek() == '+' && closing == '%')) &&
                              std::string_view(source_).substr(at_ + 1).starts_with(end)
                          ? peek()
                          : ' ';
    if (sign == ' ' && !sees(end)) {
      return false;
    }
    add(closing == '%' ? Token::Kind::block_end : Token::Kind::output_end, {});
    skip(sign == ' ' ? 0 : 1);
    if (closing == '%') {
      close(sign);
    } else {
      skip(2);
      starts_line_ = false;
      const size_t after = at_;
      if (sign == '-') {
        skip_space();
      }
      starts_line_ = at_ > after && source_[at_ - 1] == '\n';
    }
    return true;
  }

  void name() {
    size_t end = at_;
    while (end < source_.size() && is_name_part(source_[end])) {
      ++end;
    }
    add(Token::Kind::name, source_.substr(at_, end - at_));
    at_ = end;
  }

  void number() {
    std::string digits;
    bool real = false;
    const auto take = [&] {
      for (; is_digit(peek()) || (peek() == '_' && is_digit(peek(1))); ++at_) {
        if (peek() != '_') {
          digits += peek();
        }
      }
    };
    take();
    if (peek() == '.' && is_digit(peek(1))) {
      real = true;
      digits += source_[at_++];
      take();
    }
    const size_t sign = peek(1) == '-' || peek(1) == '+' ? 1 : 0;
    if ((peek() == 'e' || peek() == 'E') && is_digit(peek(1 + sign))) {
      real = true;
      digits += source_.substr(at_, 1 + sign);
      at_ += 1 + sign;
      take();
    }
    if (begins_name(peek())) {
      refuse("'{}{}' is not a number", digits, peek());
    }
    add(real ? Token::Kind::real : Token::Kind::integer, std::move(digits));
  }

  void symbol(std::string& open) {
    constexpr std::array<std::string_view, 25> kSymbols{"//", "**", "==", "!=", "<=", ">=", "+", "-", "/",
                                                        "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                        ">",  "<",  "=",  ".",  ":",  "|",  ","};
    const auto* found = std::ranges::find_if(kSymbols, [this](std::string_view one) { return sees(one); });
    if (found == kSymbols.end()) {
      refuse("a character that means nothing here: '{}'", source_.substr(at_, bytes_of_character(source_, at_)));
    }
    constexpr std::string_view kOpening = "([{", kClosing = ")]}";
    if (const size_t kind = kOpening.find(*found); kind != std::string_view::npos) {
      open += kClosing[kind];
    } else if (kClosing.find(*found) != std::string_view::npos) {
      if (open.empty() || open.back() != found->front()) {
        refuse("a '{}' that closes nothing", *found);
      }
      open.pop_back();
    }
    add(Token::Kind::symbol, std::string(*found));
    at_ += found->size();
  }

  void string(char quote) {
    const size_t begin = at_ + 1;
    size_t end = begin;
    while (end < source_.size() && source_[end] != quote) {
      end += source_[end] == '\\' ? 2 : 1;
    }
    if (end >= source_.size()) {
      refuse("the text that begins here has no end {}", quote);
    }
    add(Token::Kind::string, unescaped(std::string_view(source_).substr(begin, end - begin)));
    skip(end + 1 - at_);
  }

  // With the escapes of Python's texts resolved. One that Python does not know stays as it is.
  std::string unescaped(std::string_view text) const {
    std::string plain;
    for (size_t at = 0; at < text.size(); ++at) {
      if (text[at] != '\\') {
        plain += text[at];
        continue;
      }
      constexpr std::string_view kSigns = "nrtabfv\\'\"\n", kMeanings = "\n\r\t\a\b\f\v\\'\"";
      const char sign = text[++at];
      const size_t known = kSigns.find(sign);
      const size_t digits = sign == 'x' ? 2 : sign == 'u' ? 4 : sign == 'U' ? 8 : 0;
      if (known != std::string_view::npos) {
        plain += sign == '\n' ? std::string() : std::string(1, kMeanings[known]);
      } else if (digits > 0) {
        plain += character(text.substr(at + 1, digits), digits, 16);
        at += digits;
      } else if (sign >= '0' && sign <= '7') {
        size_t count = 1;
        while (count < 3 && at + count < text.size() && text[at + count] >= '0' && text[at + count] <= '7') {
          ++count;
        }
        plain += character(text.substr(at, count), count, 8);
        at += count - 1;
      } else if (sign == 'N') {
        refuse("the escape \\N in a text is not known");
      } else {
        plain += {'\\', sign};
      }
    }
    return plain;
  }

  std::string character(std::string_view digits, size_t count, int base) const {
    uint32_t code = 0;
    for (const char c : digits) {
      const int digit = is_digit(c) ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : base;
      if (digit >= base) {
        refuse("an escape in a text needs {} digits: '{}'", count, digits);
      }
      code = code * static_cast<uint32_t>(base) + static_cast<uint32_t>(digit);
    }
    if (digits.size() < count || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      refuse("an escape in a text is not a character: '{}'", digits);
    }
    const auto point = static_cast<char32_t>(code);
    return to_utf8(std::u32string_view(&point, 1));
  }

  std::string_view where_;
  std::string source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int line_ = 1;
  bool starts_line_ = true;
};

}  // namespace

std::vector<Token> tokenize_template(std::string_view source, std::string_view where) {
  require<FormatError>(source.size() <= kMaxTemplateBytes, where, "the template has {} bytes, at most {} are read",
                       source.size(), kMaxTemplateBytes);
  require_text_lines(source, where);
  return Lexer(source, where).tokens();
}

}  // namespace heed::chat
