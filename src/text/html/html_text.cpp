// A fragment is a list of lines and of what stands between them. A line's tags make a tree of nodes over its text.
#include "text/html/html_text.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>
#include <variant>

#include "base/errors.h"
#include "text/html/html_line.h"
#include "text/html/html_tokens.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr size_t kLongestKept = 80;  // bytes of kept words that are part of a text

constexpr bool is_html_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

// Makes a line of its tokens, in order.
class LineBuilder {
 public:
  LineBuilder() {
    line_.nodes.push_back({.kind = HtmlNodeKind::element, .words = {}, .begin = {}, .end = {}});
    open_.push_back({0, {}});
  }

  void add_text(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      if (is_html_blank(text[at])) {
        pending_ = true;
        ++at;
        continue;
      }
      const auto reference = text[at] == '&' ? character_reference(text.substr(at)) : std::nullopt;
      if (reference && reference->character == 0) {
        add_mark(text.substr(at, reference->size), Seen::yes);
        at += reference->size;
        continue;
      }
      begin_word();
      if (reference) {
        line_.text += to_utf8({&reference->character, 1});
        if (text[at + reference->size - 1] == ';') {  // what follows can't change its meaning
          line_.references.emplace(reference->character, text.substr(at, reference->size));
        }
        at += reference->size;
      } else {
        line_.text += text[at++];
      }
    }
  }

  enum class Seen : uint8_t { no, yes };

  void add_mark(std::string_view markup, Seen seen) {
    const size_t at = next_word();
    end_mark_spaces();
    HtmlNode node{.kind = HtmlNodeKind::mark, .words = {at, at}, .begin = std::string(markup), .end = {}};
    if (seen == Seen::yes) {
      node.spaces.before = pending_ && !line_.text.empty();
      marks_.push_back(push(std::move(node)));
      pending_ = false;
      after_mark_ = true;
    } else {
      push(std::move(node));
    }
  }

  void add_kept(std::string_view markup, const std::string& shown) {
    if (shown.empty() || shown.size() > kLongestKept || !has_visible(shown)) {
      add_mark(markup, Seen::yes);
      return;
    }
    begin_word();
    const size_t at = line_.text.size();
    line_.text += shown;
    push({.kind = HtmlNodeKind::kept,
          .words = {at, line_.text.size()},
          .begin = std::string(markup),
          .end = {},
          .shown = shown});
  }

  void open(size_t token, std::string_view tag) {
    const size_t at = next_word();
    const size_t node = push({.kind = HtmlNodeKind::element, .words = {at, at}, .begin = std::string(tag), .end = {}});
    open_.push_back({node, token});
    open_tokens_.insert(token);
    line_.depth = std::max(line_.depth, static_cast<int>(open_.size()));
  }

  void close(std::optional<size_t> partner, std::string_view tag) {
    if (!partner || !open_tokens_.contains(*partner)) {
      line_.keeps_order = true;
      add_mark(tag, Seen::no);
      return;
    }
    size_t level = open_.size() - 1;
    while (open_[level].token != partner) {
      --level;
    }
    loosen(level + 1);
    HtmlNode& node = line_.nodes[open_.back().node];
    node.end = tag;
    node.words.end = std::max(node.words.begin, line_.text.size());
    open_tokens_.erase(*partner);
    open_.pop_back();
  }

  HtmlLine finish() {
    loosen(1);
    for (HtmlNode& node : line_.nodes) {
      node.words = {std::min(node.words.begin, line_.text.size()), std::min(node.words.end, line_.text.size())};
    }
    line_.nodes[0].words = {0, line_.text.size()};
    order();
    return std::move(line_);
  }

 private:
  struct Open {
    size_t node;
    std::optional<size_t> token;
  };

  static bool has_visible(std::string_view text) { return text.find_first_not_of(' ') != std::string_view::npos; }

  // Where a word would begin that comes next.
  size_t next_word() const { return line_.text.size() + (pending_ && !line_.text.empty() ? 1 : 0); }

  void end_mark_spaces() {
    if (std::exchange(after_mark_, false) && pending_) {
      line_.nodes[marks_.back()].spaces.after = true;
    }
  }

  void begin_word() {
    const bool after_mark_with_space = after_mark_ && (pending_ || line_.nodes[marks_.back()].spaces.before);
    end_mark_spaces();
    if ((pending_ || after_mark_with_space) && !line_.text.empty()) {
      line_.text += ' ';
    }
    pending_ = false;
  }

  size_t push(HtmlNode node) {
    line_.nodes.push_back(std::move(node));
    line_.nodes[open_.back().node].children.push_back(line_.nodes.size() - 1);
    return line_.nodes.size() - 1;
  }

  // Start tags from this level on have no partner in the line: each becomes a mark, followed by what was in it.
  void loosen(size_t level) {
    std::vector<size_t>& outer = line_.nodes[open_[level - 1].node].children;
    for (size_t i = level; i < open_.size(); ++i) {
      HtmlNode& node = line_.nodes[open_[i].node];
      node.kind = HtmlNodeKind::mark;
      outer.insert(outer.end(), node.children.begin(), node.children.end());
      node.children.clear();
      open_tokens_.erase(*open_[i].token);
      line_.keeps_order = true;
    }
    open_.resize(level);
  }

  // Each node before its children, which are in order: after loosening, numbers are again those of the tags.
  void order() {
    for (HtmlNode& node : line_.nodes) {
      std::ranges::sort(node.children);
    }
  }

  HtmlLine line_;
  std::vector<Open> open_;
  std::unordered_set<size_t> open_tokens_;
  std::vector<size_t> marks_;
  bool pending_ = false, after_mark_ = false;
};

// The words in what is kept.
std::string shown_in(std::string_view html, std::span<const HtmlToken> tokens) {
  LineBuilder builder;
  for (const HtmlToken& token : tokens) {
    if (token.kind == HtmlTokenKind::text) {
      builder.add_text(token.source.in(html));
    }
  }
  return builder.finish().text;
}

}  // namespace

struct HtmlText::State {
  std::string html;
  std::vector<std::string> texts;
  std::vector<std::variant<TextSpan, HtmlLine>> parts;

  void divide() {
    const std::vector<HtmlToken> tokens = html_tokens(html);
    for (size_t i = 0; i < tokens.size();) {
      const size_t begin = i;
      while (i < tokens.size() && is_in_line(tokens[i])) {
        i = after(tokens, i);
      }
      if (i > begin) {
        add_line(std::span(tokens).subspan(begin, i - begin), begin);
      }
      if (i < tokens.size()) {
        const size_t next = after(tokens, i);
        add_raw({tokens[i].source.begin, tokens[next - 1].source.end});
        i = next;
      }
    }
  }

  static bool is_in_line(const HtmlToken& token) {
    const bool is_tag = token.kind == HtmlTokenKind::start_tag || token.kind == HtmlTokenKind::end_tag;
    return !token.takes_rest && (!is_tag || is_inline_element(token.name));
  }

  static bool begins_kept(const HtmlToken& token) {
    return token.kind == HtmlTokenKind::start_tag && token.partner && (token.is_kept || is_kept_element(token.name));
  }

  // The token after this one, or after the end of what is kept.
  static size_t after(std::span<const HtmlToken> tokens, size_t i) {
    return begins_kept(tokens[i]) ? *tokens[i].partner + 1 : i + 1;
  }

  void add_raw(TextSpan span) {
    if (!parts.empty() && std::holds_alternative<TextSpan>(parts.back())) {
      std::get<TextSpan>(parts.back()).end = span.end;
    } else {
      parts.emplace_back(span);
    }
  }

  // `first` is the number of the first token.
  void add_line(std::span<const HtmlToken> tokens, size_t first) {
    LineBuilder builder;
    LineBuilder own;  // without what is kept
    for (size_t i = 0; i < tokens.size();) {
      const HtmlToken& token = tokens[i];
      const std::string_view source = token.source.in(html);
      if (begins_kept(token)) {
        const size_t next = *token.partner + 1 - first;
        const std::string_view all =
            std::string_view(html).substr(token.source.begin, tokens[next - 1].source.end - token.source.begin);
        if (token.name == "script" || token.name == "style" || token.name == "template") {
          builder.add_mark(all, LineBuilder::Seen::no);
        } else {
          builder.add_kept(all, shown_in(html, tokens.subspan(i, next - i)));
        }
        i = next;
        continue;
      }
      switch (token.kind) {
        case HtmlTokenKind::text:
          own.add_text(source);
          builder.add_text(source);
          break;
        case HtmlTokenKind::end_tag:
          builder.close(token.partner, source);
          break;
        case HtmlTokenKind::start_tag:
          if (is_void_element(token.name)) {
            builder.add_mark(source, LineBuilder::Seen::yes);
          } else {
            builder.open(first + i, source);
          }
          break;
        default:
          builder.add_mark(source, LineBuilder::Seen::no);
      }
      ++i;
    }
    if (!has_letter(own.finish().text)) {
      add_raw({tokens.front().source.begin, tokens.back().source.end});
      return;
    }
    HtmlLine line = builder.finish();
    const auto blank_until = [&](const HtmlToken& token) {
      const std::string_view text = token.source.in(html);
      return std::min<size_t>(std::ranges::find_if_not(text, is_html_blank) - text.begin(), text.size());
    };
    if (tokens.front().kind == HtmlTokenKind::text) {
      line.before = html.substr(tokens.front().source.begin, blank_until(tokens.front()));
    }
    if (tokens.back().kind == HtmlTokenKind::text &&
        (tokens.size() > 1 || blank_until(tokens.back()) < tokens.back().source.size())) {
      size_t begin = tokens.back().source.end;
      while (begin > tokens.back().source.begin && is_html_blank(html[begin - 1])) {
        --begin;
      }
      line.after = html.substr(begin, tokens.back().source.end - begin);
    }
    texts.push_back(line.text);
    parts.emplace_back(std::move(line));
  }
};

HtmlText::HtmlText(std::string html) {
  require<FormatError>(html.size() <= size_t{std::numeric_limits<int32_t>::max()}, "HTML", "it is too long");
  const auto invalid = find_invalid_utf8(html);
  require<FormatError>(!invalid, "HTML", "byte {} is not UTF-8", invalid.value_or(0));
  auto state = std::make_unique<State>();
  state->html = std::move(html);
  state->divide();
  state_ = std::move(state);
}

HtmlText::~HtmlText() = default;
HtmlText::HtmlText(HtmlText&& other) noexcept = default;
HtmlText& HtmlText::operator=(HtmlText&& other) noexcept = default;

const std::vector<std::string>& HtmlText::texts() const { return state_->texts; }

std::string HtmlText::with(std::span<const TranslatedText> translations) const {
  require(translations.size() == texts().size(), "HTML", "{} translations of {} texts", translations.size(),
          texts().size());
  std::string all;
  size_t next = 0;
  for (const auto& part : state_->parts) {
    if (const auto* const raw = std::get_if<TextSpan>(&part)) {
      all += raw->in(state_->html);
    } else {
      all += with_tags(std::get<HtmlLine>(part), translations[next++]);
    }
  }
  return all;
}

}  // namespace heed
