#include "text/html/html_tokens.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace heed {
namespace {

constexpr bool is_html_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_html_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(), [](char c) { return lower(c); });
  return all;
}

template <size_t N>
bool is_listed(const std::string_view (&names)[N], std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

// Whose content holds no tags.
bool holds_raw_text(std::string_view name) {
  static constexpr std::string_view kNames[] = {"script", "style", "textarea", "xmp", "iframe", "noembed", "noframes"};
  return is_listed(kNames, name);
}

class HtmlTokens {
 public:
  explicit HtmlTokens(std::string_view html) : html_(html) {}

  std::vector<HtmlToken> read() {
    while (at_ < html_.size()) {
      if (html_[at_] != '<' || !read_markup()) {
        read_text();
      }
    }
    find_partners();
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead) const { return at_ + ahead < html_.size() ? html_[at_ + ahead] : '\0'; }

  void push(HtmlTokenKind kind, size_t end, std::string name = {}) {
    tokens_.push_back({.kind = kind, .source = {at_, end}, .name = std::move(name)});
    at_ = end;
  }

  // Until the next "<" that begins markup; a "<" that begins none is text.
  void read_text() {
    const size_t end = std::min(html_.find('<', at_ + 1), html_.size());
    if (!tokens_.empty() && tokens_.back().kind == HtmlTokenKind::text) {
      tokens_.back().source.end = at_ = end;
    } else {
      push(HtmlTokenKind::text, end);
    }
  }

  bool read_markup() {
    const char next = peek(1);
    if (next == '!' || next == '?' || (next == '/' && !is_html_letter(peek(2)) && peek(2) != '\0')) {
      const bool comment = html_.substr(at_).starts_with("<!--");
      const std::string_view end = comment ? "-->" : ">";
      const size_t found = html_.find(end, at_ + 2);
      push(HtmlTokenKind::other, found == std::string_view::npos ? html_.size() : found + end.size());
      tokens_.back().takes_rest = found == std::string_view::npos;
      return true;
    }
    if (is_html_letter(next) || (next == '/' && is_html_letter(peek(2)))) {
      read_tag();
      return true;
    }
    return false;
  }

  void read_tag() {
    const bool ends = peek(1) == '/';
    size_t at = at_ + (ends ? 2 : 1);
    const size_t name_begin = at;
    while (at < html_.size() && !is_html_space(html_[at]) && html_[at] != '>' && html_[at] != '/') {
      ++at;
    }
    const std::string name = lower(html_.substr(name_begin, at - name_begin));
    bool is_kept = false;
    const std::optional<size_t> end = read_attributes(at, is_kept);
    if (!end) {
      push(HtmlTokenKind::other, html_.size());
      tokens_.back().takes_rest = true;
      return;
    }
    push(ends ? HtmlTokenKind::end_tag : HtmlTokenKind::start_tag, *end, name);
    tokens_.back().is_kept = !ends && is_kept;
    if (!ends && holds_raw_text(name)) {
      const std::optional<size_t> content_end = end_of_raw_text(name);
      tokens_.back().takes_rest = !content_end;
      if (content_end.value_or(html_.size()) > at_) {
        push(HtmlTokenKind::other, content_end.value_or(html_.size()));
        tokens_.back().takes_rest = !content_end;
      }
    }
  }

  // The offset after the tag's ">", or none.
  std::optional<size_t> read_attributes(size_t at, bool& is_kept) const {
    while (at < html_.size()) {
      if (html_[at] == '>') {
        return at + 1;
      }
      if (is_html_space(html_[at]) || html_[at] == '/') {
        ++at;
        continue;
      }
      const size_t name_begin = at++;
      while (at < html_.size() && !is_html_space(html_[at]) && html_[at] != '>' && html_[at] != '/' &&
             html_[at] != '=') {
        ++at;
      }
      const std::string name = lower(html_.substr(name_begin, at - name_begin));
      size_t after = at;
      while (after < html_.size() && is_html_space(html_[after])) {
        ++after;
      }
      if (after >= html_.size() || html_[after] != '=') {
        continue;
      }
      const std::optional<TextSpan> value = read_value(after + 1, at);
      if (!value) {
        return std::nullopt;
      }
      const std::string text = lower(value->in(html_));
      is_kept = is_kept || (name == "translate" && text == "no") || (name == "class" && has_word(text, "notranslate"));
    }
    return std::nullopt;
  }

  std::optional<TextSpan> read_value(size_t begin, size_t& at) const {
    while (begin < html_.size() && is_html_space(html_[begin])) {
      ++begin;
    }
    if (begin < html_.size() && (html_[begin] == '"' || html_[begin] == '\'')) {
      const size_t end = html_.find(html_[begin], begin + 1);
      if (end == std::string_view::npos) {
        return std::nullopt;
      }
      at = end + 1;
      return TextSpan{begin + 1, end};
    }
    at = begin;
    while (at < html_.size() && !is_html_space(html_[at]) && html_[at] != '>') {
      ++at;
    }
    return TextSpan{begin, at};
  }

  static bool has_word(std::string_view text, std::string_view word) {
    for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
      const size_t end = at + word.size();
      if ((at == 0 || is_html_space(text[at - 1])) && (end == text.size() || is_html_space(text[end]))) {
        return true;
      }
    }
    return false;
  }

  // Where "</name" stands next.
  std::optional<size_t> end_of_raw_text(std::string_view name) const {
    for (size_t at = html_.find("</", at_); at != std::string_view::npos; at = html_.find("</", at + 2)) {
      const size_t end = at + 2 + name.size();
      if (end < html_.size() && lower(html_.substr(at + 2, name.size())) == name &&
          (is_html_space(html_[end]) || html_[end] == '>' || html_[end] == '/')) {
        return at;
      }
    }
    return std::nullopt;
  }

  void find_partners() {
    std::unordered_map<std::string, std::vector<size_t>> open;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      HtmlToken& token = tokens_[i];
      if (token.kind == HtmlTokenKind::start_tag && !is_void_element(token.name)) {
        open[token.name].push_back(i);
      } else if (token.kind == HtmlTokenKind::end_tag) {
        std::vector<size_t>& starts = open[token.name];
        if (!starts.empty()) {
          token.partner = starts.back();
          tokens_[starts.back()].partner = i;
          starts.pop_back();
        }
      }
    }
  }

  std::string_view html_;
  size_t at_ = 0;
  std::vector<HtmlToken> tokens_;
};

// Names of characters that people write, as HTML 4 lists them.
const std::map<std::string_view, char32_t>& named_characters() {
  static const std::map<std::string_view, char32_t> kNames = [] {
    // Those of Latin-1 from U+00A0, in order.
    static constexpr std::string_view kLatin[] = {
        "nbsp",   "iexcl",  "cent",   "pound",  "curren", "yen",    "brvbar", "sect",   "uml",    "copy",   "ordf",
        "laquo",  "not",    "shy",    "reg",    "macr",   "deg",    "plusmn", "sup2",   "sup3",   "acute",  "micro",
        "para",   "middot", "cedil",  "sup1",   "ordm",   "raquo",  "frac14", "frac12", "frac34", "iquest", "Agrave",
        "Aacute", "Acirc",  "Atilde", "Auml",   "Aring",  "AElig",  "Ccedil", "Egrave", "Eacute", "Ecirc",  "Euml",
        "Igrave", "Iacute", "Icirc",  "Iuml",   "ETH",    "Ntilde", "Ograve", "Oacute", "Ocirc",  "Otilde", "Ouml",
        "times",  "Oslash", "Ugrave", "Uacute", "Ucirc",  "Uuml",   "Yacute", "THORN",  "szlig",  "agrave", "aacute",
        "acirc",  "atilde", "auml",   "aring",  "aelig",  "ccedil", "egrave", "eacute", "ecirc",  "euml",   "igrave",
        "iacute", "icirc",  "iuml",   "eth",    "ntilde", "ograve", "oacute", "ocirc",  "otilde", "ouml",   "divide",
        "oslash", "ugrave", "uacute", "ucirc",  "uuml",   "yacute", "thorn",  "yuml"};
    std::map<std::string_view, char32_t> names{
        {"amp", '&'},       {"lt", '<'},        {"gt", '>'},        {"quot", '"'},      {"apos", '\''},
        {"OElig", 0x152},   {"oelig", 0x153},   {"Scaron", 0x160},  {"scaron", 0x161},  {"Yuml", 0x178},
        {"ensp", 0x2002},   {"emsp", 0x2003},   {"thinsp", 0x2009}, {"zwnj", 0x200C},   {"zwj", 0x200D},
        {"lrm", 0x200E},    {"rlm", 0x200F},    {"ndash", 0x2013},  {"mdash", 0x2014},  {"lsquo", 0x2018},
        {"rsquo", 0x2019},  {"sbquo", 0x201A},  {"ldquo", 0x201C},  {"rdquo", 0x201D},  {"bdquo", 0x201E},
        {"dagger", 0x2020}, {"Dagger", 0x2021}, {"bull", 0x2022},   {"hellip", 0x2026}, {"permil", 0x2030},
        {"prime", 0x2032},  {"Prime", 0x2033},  {"lsaquo", 0x2039}, {"rsaquo", 0x203A}, {"euro", 0x20AC},
        {"trade", 0x2122},  {"larr", 0x2190},   {"uarr", 0x2191},   {"rarr", 0x2192},   {"darr", 0x2193},
        {"harr", 0x2194},   {"minus", 0x2212},  {"infin", 0x221E},  {"asymp", 0x2248},  {"ne", 0x2260},
        {"le", 0x2264},     {"ge", 0x2265}};
    for (char32_t i = 0; i < std::size(kLatin); ++i) {
      names.emplace(kLatin[i], 0xA0 + i);
    }
    return names;
  }();
  return kNames;
}

std::optional<CharacterReference> numeric_reference(std::string_view text) {
  const bool is_hexadecimal = text.size() > 2 && lower(text[2]) == 'x';
  const char32_t base = is_hexadecimal ? 16 : 10;
  size_t at = is_hexadecimal ? 3 : 2;
  const size_t begin = at;
  char32_t value = 0;
  for (; at < text.size() && at < begin + 8; ++at) {
    const char c = lower(text[at]);
    const char32_t digit = c >= '0' && c <= '9'   ? static_cast<char32_t>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<char32_t>(c - 'a' + 10)
                                                  : 99;
    if (digit >= base) {
      break;
    }
    value = value * base + digit;
  }
  const bool is_character =
      value >= 0x20 && value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF) && !(value >= 0x7F && value < 0xA0);
  if (at == begin || at >= text.size() || text[at] != ';' || !is_character) {
    return std::nullopt;
  }
  return CharacterReference{value, at + 1};
}

}  // namespace

std::vector<HtmlToken> html_tokens(std::string_view html) { return HtmlTokens(html).read(); }

bool is_void_element(std::string_view name) {
  static constexpr std::string_view kNames[] = {"area",  "base", "br",   "col",   "embed",  "hr",    "img",
                                                "input", "link", "meta", "param", "source", "track", "wbr"};
  return is_listed(kNames, name);
}

bool is_inline_element(std::string_view name) {
  static constexpr std::string_view kBlocks[] = {
      "address",  "article",  "aside",      "base",   "blockquote", "body",   "br",       "button",   "caption",
      "center",   "col",      "colgroup",   "dd",     "details",    "dialog", "dir",      "div",      "dl",
      "dt",       "fieldset", "figcaption", "figure", "footer",     "form",   "frame",    "frameset", "h1",
      "h2",       "h3",       "h4",         "h5",     "h6",         "head",   "header",   "hgroup",   "hr",
      "html",     "legend",   "li",         "link",   "main",       "menu",   "meta",     "nav",      "noframes",
      "noscript", "ol",       "optgroup",   "option", "p",          "param",  "pre",      "search",   "section",
      "select",   "source",   "summary",    "table",  "tbody",      "td",     "textarea", "tfoot",    "th",
      "thead",    "title",    "tr",         "track",  "ul",         "xmp"};
  return !is_listed(kBlocks, name);
}

bool is_kept_element(std::string_view name) {
  static constexpr std::string_view kNames[] = {"script",  "style",    "pre",      "code",   "kbd",   "samp",
                                                "var",     "textarea", "svg",      "math",   "xmp",   "iframe",
                                                "noembed", "noframes", "template", "canvas", "object"};
  return is_listed(kNames, name);
}

std::optional<CharacterReference> character_reference(std::string_view text) {
  if (text.size() < 3 || text[0] != '&') {
    return std::nullopt;
  }
  if (text[1] == '#') {
    return numeric_reference(text);
  }
  size_t end = 1;
  constexpr size_t kLongestName = 32;
  while (end < text.size() && end <= kLongestName &&
         (is_html_letter(text[end]) || (text[end] >= '0' && text[end] <= '9'))) {
    ++end;
  }
  const auto& names = named_characters();
  if (end > 1 && end < text.size() && text[end] == ';') {
    const auto found = names.find(text.substr(1, end - 1));
    return CharacterReference{found == names.end() ? U'\0' : found->second, end + 1};
  }
  // Old names, those of Latin-1, need no semicolon.
  for (; end > 2; --end) {
    const auto found = names.find(text.substr(1, end - 1));
    if (found != names.end() && found->second <= 0xFF && found->second != '\'') {
      return CharacterReference{found->second, end};
    }
  }
  return std::nullopt;
}

}  // namespace heed
