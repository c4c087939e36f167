#include "nn/head_pattern.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace heed {
namespace {

constexpr int64_t kLargestSize = int64_t{1} << 24;

// The number after a prefix such as "local:".
std::optional<int64_t> size_after(std::string_view prefix, std::string_view text, int64_t least) {
  if (!text.starts_with(prefix)) {
    return std::nullopt;
  }
  const std::string_view digits = text.substr(prefix.size());
  int64_t size = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  return whole && size >= least && size <= kLargestSize ? std::optional(size) : std::nullopt;
}

HeadPattern head_pattern(const std::string& where, std::string_view text) {
  if (text == "full") {
    return {};
  }
  if (text == "linear") {
    return {HeadPattern::Kind::linear, 0};
  }
  if (const auto window = size_after("local:", text, 1)) {
    return {HeadPattern::Kind::local, *window};
  }
  if (const auto stride = size_after("strided:", text, 2)) {
    return {HeadPattern::Kind::strided, *stride};
  }
  require<ConfigError>(!text.starts_with("causal"), where,
                       "attention: '{}' is not a pattern: a decoder's attention is causal and an encoder's is not, "
                       "whatever its pattern",
                       text);
  fail<ConfigError>(where,
                    "attention: '{}' is not a pattern: \"full\", \"linear\", \"local:WINDOW\" (from 1) or "
                    "\"strided:STRIDE\" (from 2), or several for equal parts of the heads, as in "
                    "\"local:128+strided:16\"",
                    text);
}

std::string to_text(const HeadPattern& pattern) {
  switch (pattern.kind) {
    case HeadPattern::Kind::local:
      return fmt::format("local:{}", pattern.size);
    case HeadPattern::Kind::strided:
      return fmt::format("strided:{}", pattern.size);
    case HeadPattern::Kind::linear:
      return "linear";
    case HeadPattern::Kind::full:
      break;
  }
  return "full";
}

}  // namespace

Visibility HeadPattern::visibility(Visibility::Reach reach) const {
  return kind == Kind::strided ? Visibility::strided(reach, size) : Visibility::local(reach, size);
}

VisibilityByHead visibility_of(const LayerPattern& pattern, Visibility::Reach reach) {
  std::vector<Visibility> parts;
  parts.reserve(pattern.size());
  for (const HeadPattern& part : pattern) {
    parts.push_back(part.visibility(reach));
  }
  return VisibilityByHead(std::move(parts));
}

std::string to_text(const LayerPattern& pattern) {
  std::vector<std::string> parts;
  parts.reserve(pattern.size());
  for (const HeadPattern& part : pattern) {
    parts.push_back(to_text(part));
  }
  return fmt::format("{}", fmt::join(parts, "+"));
}

LayerPattern layer_pattern(const std::string& where, const std::string& text) {
  LayerPattern pattern;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('+', begin), text.size());
    pattern.push_back(head_pattern(where, std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  const auto linear = std::ranges::count(pattern, HeadPattern::Kind::linear, &HeadPattern::kind);
  require<ConfigError>(linear == 0 || pattern.size() == 1, where,
                       "attention: '{}' is not a pattern: linear attention is for all heads of a layer; other layers "
                       "may have other patterns",
                       text);
  return pattern;
}

}  // namespace heed
