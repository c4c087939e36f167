#include "serve/heed/heed_json.h"
#include "serve/heed/heed_paths.h"

namespace heed::serve {
namespace {

Json json_of_pair(const PairScore& pair) {
  return {{"log_probability", pair.log_probability}, {"tokens", pair.tokens}};
}

Json json_of_text(const Perplexity& found, EachToken each) {
  Json json{{"log_probability", -found.nats_per_token * static_cast<double>(found.tokens)},
            {"tokens", found.tokens},
            {"perplexity", found.perplexity},
            {"bits_per_byte", found.bits_per_byte}};
  if (each == EachToken::listed) {
    json["each"] = list_of(found.each, [](const TokenSurprisal& token) -> Json {
      return {{"piece", token.piece}, {"log_probability", -token.nats}};
    });
  }
  return json;
}

Json score_translations(Call& call, Fields& fields, const Translator& translator, Delivery delivery) {
  const std::vector<std::string> sources = take_texts(fields, "sources", "source", call);
  const std::vector<std::string> targets = take_texts(fields, "targets", "target", call);
  const LanguagePair languages{fields.text("source_language").value_or(""),
                               fields.text("target_language").value_or("")};
  fields.finish();
  if (sources.size() != targets.size()) {
    refuse_field("targets", "has {} texts for {} sources", targets.size(), sources.size());
  }
  const auto name = [](const char* side) { return [side](size_t i) { return fmt::format("{}[{}]", side, i); }; };
  const std::vector<PairScore> found =
      translator.score({sources, targets}, {name("sources"), name("targets")}, languages, call.interruption(),
                       call.sharing(), events_of_results<PairScore>(call, delivery, "score", json_of_pair));
  for (const PairScore& pair : found) {
    call.count(pair.tokens, 0);
  }
  return list_of(found, json_of_pair);
}

Json score_texts(Call& call, Fields& fields, const Generator& generator, Delivery delivery) {
  const std::vector<std::string> texts = take_texts(fields, "texts", "text", call);
  const EachToken each = fields.flag("tokens").value_or(false) ? EachToken::listed : EachToken::left_out;
  fields.finish();
  const PerplexityOptions options{.each = each, .interruption = call.interruption(), .sharing = call.sharing()};
  Json scores = Json::array();
  for (size_t i = 0; i < texts.size(); ++i) {
    const Perplexity found = generator.perplexity(texts[i], options, fmt::format("texts[{}]", i));
    call.count(found.tokens, 0);
    scores.push_back(json_of_text(found, each));
    if (delivery == Delivery::streamed) {
      call.send_event(to_text({{"line", i}, {"score", scores.back()}}));
    }
  }
  return scores;
}

}  // namespace

// Log-probabilities of translations, given their sources, or of texts.
void score(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""));
  const Delivery delivery = take_delivery(fields);
  const bool translates = model.kind() == ModelKind::translator;
  Json scores = translates ? score_translations(call, fields, model.translator(), delivery)
                           : score_texts(call, fields, model.generator(), delivery);
  answer(call, {{"model", model.name()}, {"scores", std::move(scores)}}, delivery);
}

}  // namespace heed::serve
