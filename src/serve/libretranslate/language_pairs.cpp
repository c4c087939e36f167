#include "serve/libretranslate/language_pairs.h"

#include <unicode/locid.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>
#include <utility>

#include "serve/http/message.h"

namespace heed::serve {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOtherCodes{
    {{"zh", "zh-Hans"}, {"zt", "zh-Hant"}, {"pb", "pt-BR"}}};

const std::pair<std::string_view, std::string_view>* other_code(std::string_view code) {
  const auto* const found =
      std::ranges::find_if(kOtherCodes, [&](const auto& pair) { return equal_ignoring_case(pair.first, code); });
  return found == kOtherCodes.end() ? nullptr : found;
}

// "zh" of "zh-Hans" and of "zt".
std::string_view main_language(std::string_view code) {
  const auto* const other = other_code(code);
  const std::string_view whole = other == nullptr ? code : other->second;
  return whole.substr(0, whole.find_first_of("-_"));
}

// "de=deu_Latn" is a code and what the model calls the language; "de" alone is both.
std::pair<std::string, std::string> code_and_name(const std::string& text) {
  const size_t equals = text.find('=');
  return equals == std::string::npos ? std::pair(text, text)
                                     : std::pair(text.substr(0, equals), text.substr(equals + 1));
}

void add_directions(const ModelSettings& model, std::vector<LanguageDirection>& directions) {
  if (!model.source_language.empty() && !model.target_language.empty()) {
    directions.push_back({model.name, model.source_language, model.target_language, {}});
  }
  for (const std::string& from : model.languages) {
    for (const std::string& to : model.languages) {
      if (from != to) {
        const auto [source, source_name] = code_and_name(from);
        const auto [target, target_name] = code_and_name(to);
        directions.push_back({model.name, source, target, {source_name, target_name}});
      }
    }
  }
}

}  // namespace

std::vector<LanguageDirection> directions_of(Call& call) {
  std::vector<LanguageDirection> directions;
  for (const ModelStore::Known& known : call.models().list()) {
    if (known.kind == ModelKind::translator && call.may_use(known.settings.name)) {
      add_directions(known.settings, directions);
    }
  }
  return directions;
}

LanguageDirection find_direction(const std::vector<LanguageDirection>& directions, std::string_view source,
                                 std::string_view target) {
  const auto from = [&](const LanguageDirection& one) { return are_same_language(source, one.source); };
  const auto to = [&](const LanguageDirection& one) { return are_same_language(target, one.target); };
  const auto found = std::ranges::find_if(directions, [&](const auto& one) { return from(one) && to(one); });
  if (found != directions.end()) {
    return *found;
  }
  if (std::ranges::none_of(directions, from)) {
    throw RequestError(400, "source", fmt::format("source: {} is not supported", source));
  }
  throw RequestError(400, "target",
                     fmt::format("target: {} is not available as a target language from {}", target, source));
}

bool are_same_language(std::string_view given, std::string_view known) {
  const auto* const other = other_code(given);
  return equal_ignoring_case(given, known) || (other != nullptr && equal_ignoring_case(other->second, known));
}

std::string source_for(const std::vector<LanguageDirection>& directions, std::string_view language,
                       std::string_view target) {
  int best = 0;
  std::string source;
  for (const LanguageDirection& one : directions) {
    if (!equal_ignoring_case(main_language(one.source), main_language(language))) {
      continue;
    }
    // Where a direction fits is worth more than that the code is spelled alike.
    const int fit =
        1 + (equal_ignoring_case(one.source, language) ? 1 : 0) + (are_same_language(target, one.target) ? 2 : 0);
    if (fit > best) {
      best = fit;
      source = one.source;
    }
  }
  return source;
}

std::string language_name(const std::string& code) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Locale locale = icu::Locale::forLanguageTag(code, status);
  icu::UnicodeString name;
  locale.getDisplayName(icu::Locale::getEnglish(), name);
  std::string text;
  name.toUTF8String(text);
  return text.empty() ? code : text;
}

}  // namespace heed::serve
