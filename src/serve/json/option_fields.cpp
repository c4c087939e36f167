#include "serve/json/option_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace heed::serve {
namespace {

using Names = std::pair<std::string_view, std::string_view>;

// Options that are no fields under their own names.
constexpr std::array<Names, 2> kOptions{{{"n", "samples"}, {"likeliest tokens", "top_tokens"}}};
// What messages about values begin with.
constexpr std::array<Names, 4> kValues{
    {{"logit bias", "logit_bias"}, {"stop text", "stop"}, {"regular expression", "regex"}, {"forced texts", "force"}}};

// Fields that the library calls by the same name.
constexpr std::array<std::string_view, 6> kSameNames{"layers", "heads", "kind", "source", "target", "text"};

std::string field_of(const std::string& option) {
  const auto known = std::ranges::find(kOptions, option, &Names::first);
  std::string name(known == kOptions.end() ? std::string_view(option) : known->second);
  std::ranges::replace_if(
      name, [](char c) { return c == ' ' || c == '-'; }, '_');
  return name;
}

// Whether it is "texts[3]" or its like, which a path of the interface has told the library to call a text.
bool is_of_list(std::string_view what) {
  const size_t bracket = what.find('[');
  const std::string_view name = what.substr(0, bracket);
  return bracket != std::string_view::npos && what.ends_with(']') &&
         std::ranges::all_of(name, [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); });
}

}  // namespace

std::optional<NamedField> in_words_of_fields(const Error& error) {
  if (const auto* const of_option = dynamic_cast<const OptionError*>(&error)) {
    const std::string field = field_of(of_option->option());
    return NamedField{field, fmt::format("{}: {}", field, of_option->problem())};
  }
  const std::string_view message = error.what();
  const size_t end = std::min(message.find(": "), message.size());
  const std::string_view what = message.substr(0, end);
  if (is_of_list(what) || std::ranges::find(kSameNames, what) != kSameNames.end()) {
    return NamedField{std::string(what), std::string(message)};
  }
  const auto known = std::ranges::find(kValues, what, &Names::first);
  if (known == kValues.end()) {
    return std::nullopt;
  }
  return NamedField{std::string(known->second), fmt::format("{}{}", known->second, message.substr(end))};
}

}  // namespace heed::serve
