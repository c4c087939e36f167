#include "serve/heed/heed_json.h"
#include "serve/heed/heed_paths.h"

namespace heed::serve {

// Log-probabilities of translations, given their sources, or of texts.
void score(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""));
  Json scores = Json::array();
  if (model.kind() == ModelKind::translator) {
    const std::vector<std::string> sources = take_texts(fields, "sources", "source", call);
    const std::vector<std::string> targets = take_texts(fields, "targets", "target", call);
    const LanguagePair languages{fields.text("source_language").value_or(""),
                                 fields.text("target_language").value_or("")};
    fields.finish();
    if (sources.size() != targets.size()) {
      refuse_field("targets", "has {} texts for {} sources", targets.size(), sources.size());
    }
    const auto name = [](const char* side) { return [side](size_t i) { return fmt::format("{}[{}]", side, i); }; };
    for (const PairScore& pair :
         model.translator().score({sources, targets}, {name("sources"), name("targets")}, languages)) {
      call.count(pair.tokens, 0);
      scores.push_back({{"log_probability", pair.log_probability}, {"tokens", pair.tokens}});
    }
  } else {
    const Generator& generator = model.generator();
    const std::vector<std::string> texts = take_texts(fields, "texts", "text", call);
    const bool lists_tokens = fields.flag("tokens").value_or(false);
    fields.finish();
    for (size_t i = 0; i < texts.size(); ++i) {
      const Perplexity found = generator.perplexity(
          texts[i], {.each = lists_tokens ? EachToken::listed : EachToken::left_out}, fmt::format("texts[{}]", i));
      call.count(found.tokens, 0);
      Json one{{"log_probability", -found.nats_per_token * static_cast<double>(found.tokens)},
               {"tokens", found.tokens},
               {"perplexity", found.perplexity},
               {"bits_per_byte", found.bits_per_byte}};
      if (lists_tokens) {
        one["each"] = Json::array();
        for (const TokenSurprisal& token : found.each) {
          one["each"].push_back({{"piece", token.piece}, {"log_probability", -token.nats}});
        }
      }
      scores.push_back(std::move(one));
    }
  }
  call.answer({{"model", model.name()}, {"scores", std::move(scores)}});
}

}  // namespace heed::serve
