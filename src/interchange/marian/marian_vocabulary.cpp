#include "interchange/marian/marian_vocabulary.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/errors.h"
#include "base/system/files.h"
#include "base/text/excerpt.h"
#include "base/text/json_depth.h"
#include "base/text/json_tree.h"

namespace heed {
namespace {

constexpr size_t kMaxMarianTokens = 10'000'000;

// Calls `use` with each line that is not empty, and its number.
template <class Use>
void for_each_token_line(std::string_view text, Use&& use) {
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
    if (!line.empty()) {
      use(line, number);
    }
  }
}

void append_utf8(std::string& text, uint32_t character) {
  const auto tail = [character](unsigned shift) { return static_cast<char>(0x80U | (character >> shift & 0x3fU)); };
  if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += {static_cast<char>(0xc0U | character >> 6U), tail(0)};
  } else if (character < 0x10000) {
    text += {static_cast<char>(0xe0U | character >> 12U), tail(6), tail(0)};
  } else {
    text += {static_cast<char>(0xf0U | character >> 18U), tail(12), tail(6), tail(0)};
  }
}

// What follows a backslash, which is taken from `rest`; false for another form.
bool append_escaped(std::string& text, std::string_view& rest) {
  constexpr std::string_view kEscaped = "0abtnvfre\"/\\ ", kMeant("\0\a\b\t\n\v\f\r\x1b\"/\\ ", 13);
  if (rest.empty()) {
    return false;
  }
  const char kind = rest.front();
  rest.remove_prefix(1);
  if (const size_t at = kEscaped.find(kind); at != std::string_view::npos) {
    text += kMeant[at];
    return true;
  }
  const size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
  uint32_t character = 0;
  if (digits == 0 || rest.size() < digits) {
    return false;
  }
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + digits, character, 16);
  const bool good = error == std::errc() && end == rest.data() + digits && character <= 0x10ffff &&
                    (character < 0xd800 || character > 0xdfff);
  rest.remove_prefix(digits);
  append_utf8(text, good ? character : '?');
  return good;
}

// A token as YAML writes it; none for another form.
std::optional<std::string> unquoted_token(std::string_view written) {
  if (written.empty() || (written.front() != '"' && written.front() != '\'')) {
    return written.empty() ? std::nullopt : std::optional(std::string(written));
  }
  const char quote = written.front();
  if (written.size() < 2 || written.back() != quote) {
    return std::nullopt;
  }
  std::string token;
  std::string_view rest = written.substr(1, written.size() - 2);
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == quote && quote == '\'' && rest.starts_with('\'')) {
      rest.remove_prefix(1);
    } else if (c == quote || (c == '\\' && quote == '"')) {
      if (c == quote || !append_escaped(token, rest)) {
        return std::nullopt;
      }
      continue;
    }
    token += c;
  }
  return token;
}

// Tokens as they come, in the order of their numbers.
class NumberedTokens {
 public:
  NumberedTokens(std::string where, size_t most) : where_(std::move(where)), most_(std::min(most, kMaxMarianTokens)) {}

  void add(std::string token, uint64_t id) {
    require<FormatError>(id < most_, where_, "token '{}' has the number {}", shown(token), id);
    tokens_.resize(std::max<size_t>(tokens_.size(), id + 1));
    require<FormatError>(!tokens_[id].has_value(), where_, "'{}' and '{}' have the number {}",
                         shown(tokens_[id].value_or("")), shown(token), id);
    tokens_[id] = std::move(token);
  }
  std::vector<std::string> take() {
    std::vector<std::string> tokens;
    tokens.reserve(tokens_.size());
    for (std::optional<std::string>& token : tokens_) {
      require<FormatError>(token.has_value(), where_, "no token has the number {}", tokens.size());
      tokens.push_back(std::move(*token));
    }
    return tokens;
  }

 private:
  std::string where_;
  size_t most_;
  std::vector<std::optional<std::string>> tokens_;
};

std::vector<std::string> tokens_of_yaml(std::string_view text, const std::string& where) {
  // As many numbers as there can be lines, at most: a line takes four bytes.
  NumberedTokens tokens(where, text.size() / 4 + 1);
  for_each_token_line(text, [&](std::string_view line, size_t number) {
    if (line == "---" || line == "..." || line.starts_with('#')) {
      return;
    }
    const size_t colon = line.rfind(": ");
    uint64_t id = 0;
    const char* const end = line.data() + line.size();
    const bool has_id = colon != std::string_view::npos &&
                        std::from_chars(line.data() + colon + 2, end, id) == std::from_chars_result{end, std::errc()};
    std::optional<std::string> token = has_id ? unquoted_token(line.substr(0, colon)) : std::nullopt;
    require<FormatError>(token.has_value(), where, "line {}: '{}' is not a token and its number", number, shown(line));
    tokens.add(std::move(*token), id);
  });
  return tokens.take();
}

std::vector<std::string> tokens_of_json(std::string_view text, const std::string& where) {
  require_shallow_json(text, where);
  constexpr std::string_view kWrong = "is not an object of tokens and their numbers";
  const JsonTree<nlohmann::json> tree = parse_json_tree<nlohmann::json>(
      text, [&](const nlohmann::json::exception&) { fail<FormatError>(where, "{}", kWrong); });
  const nlohmann::json& parsed = tree.root();
  require<FormatError>(parsed.is_object(), where, "{}", kWrong);
  NumberedTokens tokens(where, parsed.size());
  for (const auto& [token, id] : parsed.items()) {
    require<FormatError>(id.is_number_unsigned(), where, "token '{}' has no number", shown(token));
    tokens.add(token, id.get<uint64_t>());
  }
  return tokens.take();
}

}  // namespace

std::vector<std::string> read_marian_vocabulary(const std::filesystem::path& path) {
  return parse_marian_vocabulary(read_file(path), path);
}

std::vector<std::string> parse_marian_vocabulary(std::string_view text, const std::filesystem::path& path) {
  const std::string where = path.string();
  std::vector<std::string> tokens;
  if (path.extension() == ".yml" || path.extension() == ".yaml") {
    tokens = tokens_of_yaml(text, where);
  } else if (path.extension() == ".json") {
    tokens = tokens_of_json(text, where);
  } else {
    for_each_token_line(text, [&](std::string_view line, size_t) { tokens.emplace_back(line); });
  }
  std::unordered_set<std::string_view> known;
  for (const std::string& token : tokens) {
    require<FormatError>(known.insert(token).second, where, "the token '{}' occurs twice", shown(token));
  }
  return tokens;
}

}  // namespace heed
