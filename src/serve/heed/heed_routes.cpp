// heed's own interface.
#include "serve/routes.h"

namespace heed::serve {
namespace {

Json json_of(const Translation& translation) {
  return {{"text", translation.text},
          {"score", translation.score},
          {"log_probability", translation.log_probability},
          {"tokens", translation.tokens}};
}

void translate(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""));
  const Translator& translator = model.translator();
  TranslationOptions options = translator.with_defaults();
  const auto texts = fields.texts("texts", static_cast<size_t>(call.settings().texts));
  if (!texts) {
    refuse_field("texts", "is missing");
  }
  Fields::take(fields.integer("beam", 1, 1024), options.beam);
  Fields::take(fields.integer("n_best", 1, 1024), options.n_best);
  Fields::take(fields.number("length_penalty", -10.0, 10.0), options.length_penalty);
  fields.finish();
  options.interruption = call.interruption();
  const auto found = translator.translate(*texts, options, [](size_t i) { return fmt::format("texts[{}]", i); });
  Json lines = Json::array();
  for (const std::vector<Translation>& line : found) {
    Json translations = Json::array();
    for (const Translation& one : line) {
      call.count(0, one.tokens);
      translations.push_back(json_of(one));
    }
    lines.push_back({{"translations", std::move(translations)}});
  }
  call.answer({{"model", model.name()}, {"lines", std::move(lines)}});
}

}  // namespace

Routes heed_routes() { return {{"POST", "/heed/translate", ErrorForm::heed, "heed", translate}}; }

}  // namespace heed::serve
