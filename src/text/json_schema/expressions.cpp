#include "text/json_schema/expressions.h"

#include <fmt/format.h>

#include <algorithm>

namespace heed::json_schema {
namespace {

constexpr int64_t kMostRepeats = 1000;  // that an expression can have

// At most this many times. The alternatives differ in whether the first thousand are complete, so that a text matches
// in one way alone and the automaton stays small.
std::string at_most(std::string_view part, int64_t count) {
  if (count <= 0) {
    return "";
  }
  if (count <= kMostRepeats) {
    return count == 1 ? fmt::format("{}?", part) : fmt::format("{}{{0,{}}}", part, count);
  }
  return any_of({fmt::format("{}{{0,{}}}", part, kMostRepeats - 1),
                 fmt::format("{}{{{}}}{}", part, kMostRepeats, at_most(part, count - kMostRepeats))});
}

}  // namespace

std::string group(std::string_view expression) { return fmt::format("(?:{})", expression); }

std::string any_of(const std::vector<std::string>& expressions) {
  return expressions.size() == 1 ? expressions.front() : group(fmt::format("{}", fmt::join(expressions, "|")));
}

std::string repeated(std::string_view part, const Counts& counts) {
  std::string all;
  int64_t least = counts.least;
  for (; least > kMostRepeats; least -= kMostRepeats) {
    all += fmt::format("{}{{{}}}", part, kMostRepeats);
  }
  if (!counts.most) {
    return all + (least == 0 ? fmt::format("{}*", part) : fmt::format("{}{{{},}}", part, least));
  }
  const int64_t more = *counts.most - counts.least;
  if (least + more <= kMostRepeats) {
    return all + (least == 1 && more == 0   ? std::string(part)
                  : least == 0 && more == 0 ? ""
                                            : fmt::format("{}{{{},{}}}", part, least, least + more));
  }
  return all + (least > 0 ? fmt::format("{}{{{}}}", part, least) : "") + at_most(part, more);
}

std::string separated(std::string_view value, const Counts& counts) {
  if (counts.most && *counts.most <= 0) {
    return "";
  }
  const Counts more{std::max<int64_t>(counts.least - 1, 0),
                    counts.most ? std::optional(*counts.most - 1) : std::nullopt};
  const std::string all = fmt::format("{}{}", value, repeated(group(fmt::format("{}{}", kComma, value)), more));
  return counts.least > 0 ? all : group(all) + "?";
}

std::string exactly(std::string_view text) {
  std::string expression;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == ' ' || c == '"' || c == ',' || c == ':';
    expression += plain ? std::string(1, c) : std::string{'\\', c};
  }
  return expression;
}

std::string exact_string(std::string_view text) { return exactly(Json(text).dump()); }

std::string exact_value(const Json& value) {
  std::vector<std::string> parts;
  if (value.is_array()) {
    for (const Json& element : value) {
      parts.push_back(exact_value(element));
    }
    return fmt::format("\\[{}\\]", fmt::join(parts, kComma));
  }
  if (value.is_object()) {
    for (const auto& [name, member] : value.items()) {
      parts.push_back(fmt::format("{}{}{}", exact_string(name), kColon, exact_value(member)));
    }
    return fmt::format("\\{{{}\\}}", fmt::join(parts, kComma));
  }
  return exactly(value.dump());
}

std::string any_character() { return R"((?:[^"\\\x00-\x1f]|\\["\\bfnrt]))"; }

std::string any_string(const Counts& characters) {
  return fmt::format("\"{}\"", repeated(any_character(), characters));
}

std::string any_number() { return R"(-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?(?:[eE][+\-]?\d{1,2})?)"; }

std::string any_value(int nesting) {
  std::vector<std::string> kinds{any_string({}), any_number(), "true", "false", "null"};
  if (nesting > 0) {
    const std::string inner = any_value(nesting - 1);
    kinds.push_back(fmt::format("\\[{}\\]", separated(inner, {})));
    kinds.push_back(fmt::format("\\{{{}\\}}", separated(fmt::format("{}{}{}", any_string({}), kColon, inner), {})));
  }
  return any_of(kinds);
}

}  // namespace heed::json_schema
