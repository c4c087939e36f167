#include "interchange/marian/flat_yaml.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/errors.h"
#include "base/text/excerpt.h"

namespace heed {
namespace {

constexpr size_t kMaxYamlBytes = 1 << 20;

// One line at a time; `line` is its number in messages.
class YamlLine {
 public:
  YamlLine(std::string_view text, size_t line, const std::string& where) : text_(text), line_(line), where_(where) {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
    check(at_ == text_.size() || text_[at_] != '\t', "a tab at the beginning");
  }

  size_t indentation() const { return at_; }
  bool is_empty() {
    skip_spaces();
    return at_ == text_.size() || text_[at_] == '#';
  }
  bool is_item() const { return rest() == "-" || rest().starts_with("- "); }
  std::string item() {
    ++at_;
    return last_scalar();
  }
  std::string key() {
    std::string key = peek() == '"' || peek() == '\'' ? quoted() : plain_key();
    check(accept(':'), "expected a key, and ':' after it");
    check(at_ == text_.size() || text_[at_] == ' ', "expected a space after ':'");
    return key;
  }
  bool begins_list() {
    skip_spaces();
    return peek() == '[';
  }
  std::vector<std::string> flow_list() {
    std::vector<std::string> items;
    accept('[');
    while (!accept_after_spaces(']')) {
      skip_spaces();
      items.push_back(peek() == '"' || peek() == '\'' ? quoted() : plain(",]"));
      check(!items.back().empty() || peek() != ',', "an item without a value");
      if (!accept_after_spaces(',')) {
        check(accept_after_spaces(']'), "a list that does not end in its line");
        break;
      }
    }
    check(is_empty(), "more after a list");
    return items;
  }
  // A scalar that ends the line.
  std::string last_scalar() {
    skip_spaces();
    const bool in_quotes = peek() == '"' || peek() == '\'';
    std::string value = in_quotes ? quoted() : plain("");
    check(is_empty(), "more after a value");
    return value;
  }
  [[noreturn]] void refuse(std::string_view what) const {
    fail<FormatError>(where_, "line {}: {}, which heed does not read", line_, what);
  }

 private:
  void check(bool good, std::string_view what) const {
    if (!good) {
      refuse(what);
    }
  }
  std::string_view rest() const { return text_.substr(at_); }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_spaces() {
    while (peek() == ' ') {
      ++at_;
    }
  }
  bool accept(char c) {
    const bool found = peek() == c;
    at_ += found ? 1 : 0;
    return found;
  }
  bool accept_after_spaces(char c) {
    skip_spaces();
    return accept(c);
  }

  std::string plain_key() {
    const size_t end = std::min(rest().find(':'), rest().size());
    const std::string_view key = rest().substr(0, end);
    check(!key.empty() && key.find_first_of(" #[]{},&*!|>'\"%@`?") == std::string_view::npos, "a line without a key");
    at_ += end;
    return std::string(key);
  }
  // Up to one of these characters, a comment, or the end of the line.
  std::string plain(std::string_view ends) {
    check(std::string_view("[]{}&*!|>%@`").find(peek()) == std::string_view::npos || at_ == text_.size() ||
              ends.find(peek()) != std::string_view::npos,
          "a value that begins with a special character");
    check(!rest().starts_with("- ") && !rest().starts_with("? "), "a list or a mapping within a value");
    const std::string_view line = rest();
    size_t end = 0;
    while (end < line.size() && ends.find(line[end]) == std::string_view::npos && !line.substr(end).starts_with(" #")) {
      check(!line.substr(end).starts_with(": ") && (line[end] != ':' || end + 1 < line.size()), "a key within a value");
      ++end;
    }
    at_ += end;
    std::string value(line.substr(0, end));
    value.erase(value.find_last_not_of(' ') + 1);
    return value == "~" || value == "null" ? "" : value;
  }
  std::string quoted() {
    const char quote = text_[at_++];
    std::string value;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == quote && quote == '\'' && peek() == '\'') {
        value += text_[at_++];
      } else if (c == quote) {
        return value;
      } else if (c == '\\' && quote == '"') {
        value += escaped();
      } else {
        value += c;
      }
    }
    refuse("a text that does not end in its line");
  }
  char escaped() {
    const char c = peek();
    at_ += c == '\0' ? 0 : 1;
    switch (c) {
      case 'n':
        return '\n';
      case 't':
        return '\t';
      case '"':
      case '\\':
      case '/':
        return c;
      default:
        refuse("an escaped character other than n, t, quotes and backslashes");
    }
  }

  std::string_view text_;
  size_t at_ = 0, line_;
  const std::string& where_;
};

std::string_view without_return(std::string_view line) {
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

}  // namespace

FlatYaml::FlatYaml(std::string_view text, std::string where) : where_(std::move(where)) {
  require<FormatError>(text.size() <= kMaxYamlBytes, where_, "{} bytes, expected up to {}", text.size(), kMaxYamlBytes);
  Value* list = nullptr;  // that further lines may add to
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view content = without_return(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    YamlLine line(content, ++number, where_);
    if (line.is_empty() || (content == "---" && values_.empty()) || (content == "..." && text.empty())) {
      continue;
    }
    if (line.is_item()) {
      if (list == nullptr) {
        line.refuse("an item that belongs to no key");
      }
      list->is_list = true;
      list->items.push_back(line.item());
      continue;
    }
    if (line.indentation() > 0) {
      line.refuse("a value within a value");
    }
    const std::string key = line.key();
    const auto [value, is_new] = values_.emplace(key, Value{false, {}});
    require<FormatError>(is_new, where_, "line {}: the key '{}' occurs twice", number, shown(key));
    if (line.begins_list()) {
      value->second = {true, line.flow_list()};
      list = nullptr;
    } else if (line.is_empty()) {
      list = &value->second;
    } else {
      value->second.items.push_back(line.last_scalar());
      list = nullptr;
    }
  }
}

std::vector<std::string> FlatYaml::keys() const {
  std::vector<std::string> all;
  for (const auto& [key, value] : values_) {
    all.push_back(key);
  }
  return all;
}

const std::string* FlatYaml::scalar(std::string_view key) const {
  const auto it = values_.find(key);
  if (it == values_.end() || (!it->second.is_list && it->second.items.empty())) {
    return nullptr;
  }
  require<FormatError>(!it->second.is_list, where_, "'{}' is a list, expected one value", key);
  return &it->second.items.front();
}

std::string FlatYaml::text(std::string_view key, const std::string& otherwise) const {
  const std::string* const value = scalar(key);
  return value == nullptr ? otherwise : *value;
}

int64_t FlatYaml::integer_of(std::string_view key, const std::string& value) const {
  int64_t whole = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), whole);
  require<FormatError>(error == std::errc() && end == value.data() + value.size(), where_,
                       "'{}' is '{}', expected an integer", key, shown(value));
  return whole;
}

int64_t FlatYaml::integer(std::string_view key, std::optional<int64_t> otherwise) const {
  const std::string* const value = scalar(key);
  require<FormatError>(value != nullptr || otherwise.has_value(), where_, "there is no '{}'", key);
  return value == nullptr ? *otherwise : integer_of(key, *value);
}

double FlatYaml::number(std::string_view key, double otherwise) const {
  const std::string* const value = scalar(key);
  if (value == nullptr) {
    return otherwise;
  }
  double real = 0.0;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), real);
  require<FormatError>(error == std::errc() && end == value->data() + value->size(), where_,
                       "'{}' is '{}', expected a number", key, shown(*value));
  return real;
}

bool FlatYaml::flag(std::string_view key, bool otherwise) const {
  const std::string* const value = scalar(key);
  if (value == nullptr) {
    return otherwise;
  }
  require<FormatError>(*value == "true" || *value == "false", where_, "'{}' is '{}', expected true or false", key,
                       shown(*value));
  return *value == "true";
}

std::vector<std::string> FlatYaml::texts(std::string_view key) const {
  const auto it = values_.find(key);
  return it == values_.end() ? std::vector<std::string>{} : it->second.items;
}

std::vector<int64_t> FlatYaml::integers(std::string_view key) const {
  std::vector<int64_t> all;
  for (const std::string& value : texts(key)) {
    all.push_back(integer_of(key, value));
  }
  return all;
}

}  // namespace heed
