// LibreTranslate's interface.
#include <algorithm>
#include <map>
#include <utility>

#include "heed/language_detector.h"
#include "serve/libretranslate/request_fields.h"
#include "serve/libretranslate/text_pieces.h"
#include "serve/routes.h"

namespace heed::serve {
namespace {

constexpr int64_t kMostAlternatives = 20;

const LanguageDetector& detector() {
  static const LanguageDetector kDetector;
  return kDetector;
}

struct Detected {
  std::string language;
  double confidence = 0.0;
};

// The likeliest of the languages that are translated from, by its code in the settings.
Detected detect_source(const std::string& text, const std::vector<LanguageDirection>& directions,
                       std::string_view target) {
  for (const LanguageGuess& guess : detector().detect(text)) {
    std::string source = source_for(directions, guess.language, target);
    if (!source.empty()) {
      return {std::move(source), guess.confidence};
    }
  }
  return {directions.empty() ? "" : directions.front().source, 0.0};
}

// A number that a form has as text.
int64_t alternatives_of(Fields& fields) {
  const Json* const field = fields.find("alternatives");
  const std::string text = field == nullptr ? "0" : field->is_string() ? field->get<std::string>() : field->dump();
  if (text.empty() || text.size() > 3 || text.find_first_not_of("0123456789") != std::string::npos ||
      std::stoll(text) > kMostAlternatives) {
    refuse_field("alternatives", "is {}, expected an integer from 0 to {}", text, kMostAlternatives);
  }
  return std::stoll(text);
}

void translate_texts(Call& call) {
  const Json body = request_fields(call.request());
  Fields fields(body);
  fields.accept({"api_key"});
  const Json& given = fields.get("q");
  const bool is_list = given.is_array();
  const std::vector<std::string> texts = is_list && given.empty()
                                             ? std::vector<std::string>{}
                                             : *fields.texts("q", static_cast<size_t>(call.settings().texts));
  std::string source = fields.required_text("source");
  const std::string target = fields.required_text("target");
  const bool is_html = fields.choice("format", {"text", "html"}).value_or("text") == "html";
  const int64_t alternatives = alternatives_of(fields);
  fields.finish();

  const std::vector<LanguageDirection> directions = directions_of(call);
  const bool is_automatic = equal_ignoring_case(source, "auto");
  Detected detected;
  if (is_automatic) {
    std::string sample;
    for (const std::string& text : texts) {
      sample += text + "\n";
    }
    detected = detect_source(sample, directions, target);
    source = detected.language;
  }
  std::vector<TranslatedLongText> found;
  if (are_same_language(target, source)) {
    std::ranges::transform(texts, std::back_inserter(found), [](const std::string& text) {
      return TranslatedLongText{text, {}};
    });
  } else {
    const LanguageDirection direction = find_direction(directions, source, target);
    const ServedModel& model = call.model(direction.model);
    LongTextOptions options{.format = is_html ? TextFormat::html : TextFormat::text,
                            .alternatives = is_html ? 0 : alternatives,
                            .search = model.search_options(),
                            .most_sequences = call.settings().sequences};
    options.search.languages = direction.names;
    options.search.interruption = call.interruption();
    options.search.sharing = call.sharing();
    LongTranslations translated = translate_long_texts(model.translator(), direction.source, texts, options);
    call.count(translated.read, translated.written);
    call.observe_first_token(translated.first_token);
    found = std::move(translated.texts);
  }
  Json answer = Json::object();
  const auto set = [&](const char* name, auto part) {
    Json values = Json::array();
    std::ranges::transform(found, std::back_inserter(values), part);
    answer[name] = is_list ? std::move(values) : std::move(values.front());
  };
  set("translatedText", [](const TranslatedLongText& one) { return Json(one.text); });
  if (is_automatic) {
    const Json language{{"confidence", detected.confidence}, {"language", detected.language}};
    answer["detectedLanguage"] = is_list ? Json(std::vector<Json>(texts.size(), language)) : language;
  }
  if (alternatives > 0) {
    set("alternatives", [](const TranslatedLongText& one) { return Json(one.alternatives); });
  }
  call.answer(answer);
}

void detect(Call& call) {
  const Json body = request_fields(call.request());
  Fields fields(body);
  fields.accept({"api_key"});
  const std::string text = fields.required_text("q");
  fields.finish();
  Json guesses = Json::array();
  for (const LanguageGuess& guess : detector().detect(text)) {
    if (guesses.empty() || guess.confidence >= 1.0) {
      guesses.push_back({{"confidence", guess.confidence}, {"language", guess.language}});
    }
  }
  call.answer(guesses);
}

void list_languages(Call& call) {
  std::map<std::string, std::vector<std::string>> targets;
  for (const LanguageDirection& direction : directions_of(call)) {
    std::vector<std::string>& known = targets[direction.source];
    if (std::ranges::find(known, direction.target) == known.end()) {
      known.push_back(direction.target);
    }
  }
  Json languages = Json::array();
  for (const auto& [code, to] : targets) {
    languages.push_back({{"code", code}, {"name", language_name(code)}, {"targets", to}});
  }
  call.answer(languages);
}

void frontend_settings(Call& call) {
  const std::vector<LanguageDirection> directions = directions_of(call);
  const auto language = [](const std::string& code) {
    return Json{{"code", code}, {"name", code == "auto" ? "Auto Detect" : language_name(code)}};
  };
  call.answer(
      {{"apiKeys", !call.settings().keys.empty()},
       {"charLimit", call.settings().http.body_bytes},
       {"filesTranslation", false},
       {"frontendTimeout", 500},
       {"keyRequired", !call.settings().keys.empty()},
       {"language",
        {{"source", language("auto")}, {"target", directions.empty() ? Json() : language(directions.front().target)}}},
       {"suggestions", false},
       {"supportedFilesFormat", Json::array()}});
}

}  // namespace

Routes libretranslate_routes() {
  constexpr ErrorForm kErrors = ErrorForm::libretranslate;
  return {{"POST", "/translate", kErrors, "libretranslate", translate_texts},
          {"POST", "/detect", kErrors, "libretranslate", detect},
          {"GET", "/languages", kErrors, "libretranslate", list_languages, Admission::open},
          {"GET", "/frontend/settings", kErrors, "libretranslate", frontend_settings, Admission::open}};
}

}  // namespace heed::serve
