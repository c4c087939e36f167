#include "text/json_schema/strings.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/errors.h"
#include "text/patterns/regex_expression.h"

namespace heed::json_schema {
namespace {

constexpr int kDeepestGroups = 30;
constexpr int64_t kEndless = std::numeric_limits<int32_t>::max();

constexpr CodePoints kAllCodePoints{0, kLastCodePoint};

CodePointSet without(const CodePointSet& set, const CodePointSet& removed) {
  CodePointSet rest = set;
  for (const CodePoints& hole : removed) {
    CodePointSet next;
    for (const CodePoints& range : rest) {
      if (hole.last < range.first || range.last < hole.first) {
        next.push_back(range);
        continue;
      }
      if (range.first < hole.first) {
        next.push_back({range.first, hole.first - 1});
      }
      if (hole.last < range.last) {
        next.push_back({hole.last + 1, range.last});
      }
    }
    rest = std::move(next);
  }
  return rest;
}

bool contains(const CodePointSet& set, char32_t c) {
  return std::ranges::any_of(set, [&](const CodePoints& range) { return range.first <= c && c <= range.last; });
}

// ECMAScript's white space and line ends beyond ASCII: what its . and \S leave out.
const CodePointSet kSpacesBeyondAscii{{0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029},
                                      {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const CodePointSet kNeedEscapes{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0xD800, 0xDFFF}};

// One character of a set, as it is written in JSON.
std::string character_of(CodePointSet set, std::string_view where) {
  if (set.size() == 1 && set.front().first == 0 && set.front().last == kLastCodePoint) {
    return any_character();
  }
  if (contains(set, kLastCodePoint)) {
    set = without(set, kSpacesBeyondAscii);
    set = without(set, {{0, 0x1F}, {0x7F, 0x9F}});
  }
  std::vector<std::string> kinds;
  std::string plain;
  for (const CodePoints& range : without(set, kNeedEscapes)) {
    plain += fmt::format("\\x{{{:x}}}", static_cast<uint32_t>(range.first));
    plain += range.first < range.last ? fmt::format("-\\x{{{:x}}}", static_cast<uint32_t>(range.last)) : "";
  }
  if (!plain.empty()) {
    kinds.push_back(fmt::format("[{}]", plain));
  }
  for (char32_t c = 0; c < 0x80; ++c) {
    if (contains(set, c) && (c < 0x20 || c == '"' || c == '\\')) {
      const std::string escaped = Json(std::string(1, static_cast<char>(c))).dump();
      kinds.push_back(exactly(std::string_view(escaped).substr(1, escaped.size() - 2)));
    }
  }
  require<ConfigError>(!kinds.empty(), where, "the pattern has a class that no character is in");
  return any_of(kinds);
}

// The tree of a pattern as an expression of JSON text.
std::string in_json(const RegexExpression& tree, std::string_view where, int depth) {
  require<ConfigError>(depth < kDeepestGroups, where, "the pattern has more than {} groups inside each other",
                       kDeepestGroups);
  std::vector<std::string> parts;
  for (const RegexExpression& part : tree.parts) {
    parts.push_back(in_json(part, where, depth + (tree.kind == RegexExpression::Kind::choice ? 1 : 0)));
  }
  switch (tree.kind) {
    case RegexExpression::Kind::sequence:
      return fmt::format("{}", fmt::join(parts, ""));
    case RegexExpression::Kind::choice:
      return any_of(parts);
    case RegexExpression::Kind::repeat:
      return repeated(group(parts.front()),
                      {tree.least, tree.most == RegexExpression::kAny ? std::nullopt : std::optional(tree.most)});
    default:
      return character_of(tree.set, where);
  }
}

struct Lengths {
  int64_t least = 0, most = 0;
};

int64_t product(int64_t a, int64_t b) { return a == 0 || b == 0 ? 0 : std::min(kEndless, a) * std::min(kEndless, b); }

// How many characters the texts have that a pattern matches; kEndless and more: any number.
Lengths lengths_of(const RegexExpression& tree) {
  Lengths all;
  switch (tree.kind) {
    case RegexExpression::Kind::set:
      return {1, 1};
    case RegexExpression::Kind::repeat: {
      const Lengths part = lengths_of(tree.parts.front());
      const int64_t most = tree.most == RegexExpression::kAny ? kEndless : tree.most;
      return {std::min(kEndless, product(part.least, tree.least)), std::min(kEndless, product(part.most, most))};
    }
    case RegexExpression::Kind::choice:
      all = {kEndless, 0};
      for (const RegexExpression& part : tree.parts) {
        const Lengths of_part = lengths_of(part);
        all = {std::min(all.least, of_part.least), std::max(all.most, of_part.most)};
      }
      return all;
    default:
      for (const RegexExpression& part : tree.parts) {
        const Lengths of_part = lengths_of(part);
        all = {std::min(kEndless, all.least + of_part.least), std::min(kEndless, all.most + of_part.most)};
      }
      return all;
  }
}

// Whether a pattern ends in a $ that is not a character.
bool ends_in_anchor(std::string_view pattern) {
  if (pattern.empty() || pattern.back() != '$') {
    return false;
  }
  size_t backslashes = 0;
  while (backslashes + 1 < pattern.size() && pattern[pattern.size() - 2 - backslashes] == '\\') {
    ++backslashes;
  }
  return backslashes % 2 == 0;
}

// The branches of a pattern, between the | that stand in no group and no class.
std::vector<std::string_view> branches_of(std::string_view pattern) {
  std::vector<std::string_view> all;
  size_t begin = 0, groups = 0;
  bool in_class = false;
  for (size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c == '\\') {
      ++at;
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
    } else if (c == '(' || c == ')') {
      groups += c == '(' ? 1 : groups > 0 ? -1 : 0;
    } else if (c == '|' && groups == 0) {
      all.push_back(pattern.substr(begin, at - begin));
      begin = at + 1;
    }
  }
  all.push_back(pattern.substr(begin));
  return all;
}

// A branch, with any text before and after it where no anchor holds it.
RegexExpression found_anywhere(std::string_view branch) {
  RegexExpression any{.kind = RegexExpression::Kind::repeat, .parts = {}, .set = {}, .most = RegexExpression::kAny};
  any.parts.push_back({.kind = RegexExpression::Kind::set, .parts = {}, .set = {kAllCodePoints}});
  RegexExpression all{.parts = {}, .set = {}};
  if (!branch.starts_with('^')) {
    all.parts.push_back(any);
  }
  all.parts.push_back(parse_regex(branch));
  if (!ends_in_anchor(branch)) {
    all.parts.push_back(any);
  }
  return all;
}

std::string quoted(const RegexExpression& tree, const Counts& length, std::string_view where, std::string_view what) {
  const Lengths found = lengths_of(tree);
  require<ConfigError>(found.least >= length.least && (!length.most || found.most <= *length.most), where,
                       "{} together with minLength or maxLength, which it does not keep to, is not supported", what);
  return fmt::format("\"{}\"", in_json(tree, where, 0));
}

// Calendar days of the years from 1000.
const std::string& date_pattern() {
  static const std::string kPattern =
      "(?:[1-9]\\d{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|"
      "02-(?:0[1-9]|1\\d|2[0-8]))|"
      "(?:[1-9]\\d(?:0[48]|[2468][048]|[13579][26])|(?:[2468][048]|[13579][26])00)-02-29)";
  return kPattern;
}

const std::string& time_pattern() {
  static const std::string kPattern =
      "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,6})?(?:Z|[+\\-](?:[01]\\d|2[0-3]):[0-5]\\d)";
  return kPattern;
}

}  // namespace

std::string string_of_pattern(std::string_view pattern, const Counts& length, std::string_view where) {
  require<ConfigError>(pattern.find("[]") == std::string_view::npos && pattern.find("[^]") == std::string_view::npos,
                       where, "an empty class in a pattern is not supported");
  RegexExpression tree{.kind = RegexExpression::Kind::choice, .parts = {}, .set = {}};
  try {
    for (const std::string_view branch : branches_of(pattern)) {
      tree.parts.push_back(found_anywhere(branch));
    }
  } catch (const Error& error) {
    fail<ConfigError>(where, "the pattern is not supported: {}", error.what());
  }
  return quoted(tree, length, where, "a pattern");
}

std::optional<std::string> string_of_format(std::string_view format, const Counts& length, std::string_view where) {
  static const std::map<std::string_view, std::string> kFormats{
      {"date", date_pattern()},
      {"time", time_pattern()},
      {"date-time", date_pattern() + "T" + time_pattern()},
      {"uuid", "[\\da-fA-F]{8}(?:-[\\da-fA-F]{4}){3}-[\\da-fA-F]{12}"},
      // A dot stands between other signs; each part of the domain has at most 63.
      {"email",
       "[\\w+\\-]{1,30}(?:\\.[\\w+\\-]{1,15}){0,2}@(?:[a-zA-Z\\d](?:[a-zA-Z\\d\\-]{0,61}[a-zA-Z\\d])?\\.){1,3}"
       "[a-zA-Z]{2,24}"},
      {"ipv4", "(?:(?:\\d|[1-9]\\d|1\\d{2}|2[0-4]\\d|25[0-5])\\.){3}(?:\\d|[1-9]\\d|1\\d{2}|2[0-4]\\d|25[0-5])"}};
  const auto found = kFormats.find(format);
  return found == kFormats.end()
             ? std::nullopt
             : std::optional(quoted(parse_regex(found->second), length, where, fmt::format("format {}", format)));
}

}  // namespace heed::json_schema
