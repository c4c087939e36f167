#include "serve/json/option_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace heed::serve {
namespace {

using Names = std::pair<std::string_view, std::string_view>;

constexpr std::array<std::string_view, 4> kOptions{"sampling: ", "generation: ", "search: ", "decoding: "};
constexpr std::array<std::string_view, 17> kFields{"alternatives",
                                                   "beam",
                                                   "coverage_penalty",
                                                   "diversity",
                                                   "frequency_penalty",
                                                   "groups",
                                                   "length_penalty",
                                                   "max_tokens",
                                                   "min_p",
                                                   "min_tokens",
                                                   "n_best",
                                                   "no_repeat_ngram",
                                                   "patience",
                                                   "presence_penalty",
                                                   "repetition_penalty",
                                                   "temperature",
                                                   "top_k"};
// Where the library has another word, or says what is wrong with the whole of it.
constexpr std::array<Names, 6> kOthers{{{"top-p", "top_p"},
                                        {"n", "samples"},
                                        {"logit bias", "logit_bias"},
                                        {"stop text", "stop"},
                                        {"regular expression", "regex"},
                                        {"forced texts", "force"}}};

std::string_view field_of(std::string_view option) {
  const auto other = std::ranges::find(kOthers, option, &Names::first);
  if (other != kOthers.end()) {
    return other->second;
  }
  std::string name(option);
  std::ranges::replace_if(
      name, [](char c) { return c == ' ' || c == '-'; }, '_');
  const auto field = std::ranges::find(kFields, name);
  return field == kFields.end() ? std::string_view() : *field;
}

}  // namespace

std::optional<NamedField> in_words_of_fields(std::string_view message) {
  const auto options = std::ranges::find_if(kOptions, [&](std::string_view one) { return message.starts_with(one); });
  const size_t begin = options == kOptions.end() ? 0 : options->size();
  const std::string_view separator = options == kOptions.end() ? ": " : " is ";
  const size_t end = message.find(separator, begin);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view field = field_of(message.substr(begin, end - begin));
  if (field.empty()) {
    return std::nullopt;
  }
  const size_t rest = options == kOptions.end() ? end + separator.size() : end + 1;
  return NamedField{std::string(field), fmt::format("{}: {}", field, message.substr(rest))};
}

}  // namespace heed::serve
