#include "serve/heed/heed_json.h"
#include "serve/heed/heed_paths.h"

namespace heed::serve {
namespace {

constexpr int64_t kMaxBeam = 1024;
constexpr double kMaxPenalty = 10.0;

struct TranslateRequest {
  std::vector<std::string> texts;
  TranslationOptions options;
  bool lists_source_pieces = false;
};

void take_search(Fields& fields, const Call& call, TranslationOptions& options) {
  Fields::take(fields.integer("beam", 1, kMaxBeam), options.beam);
  Fields::take(fields.integer("n_best", 1, kMaxBeam), options.n_best);
  Fields::take(fields.integer("alternatives", 0, kMaxBeam), options.alternatives);
  Fields::take(fields.integer("groups", 1, kMaxBeam), options.groups);
  Fields::take(fields.number("diversity", 0.0, kMaxPenalty), options.diversity);
  Fields::take(fields.number("length_penalty", -kMaxPenalty, kMaxPenalty), options.length_penalty);
  Fields::take(fields.number("coverage_penalty", 0.0, kMaxPenalty), options.coverage_penalty);
  Fields::take(fields.number("patience", 0.0, kMaxPenalty), options.patience);
  Fields::take(fields.integer("max_tokens", 1, call.settings().max_tokens), options.max_length);
  Fields::take(fields.texts("force", 100), options.force);
  Fields::take(fields.text("source_language"), options.languages.source);
  Fields::take(fields.text("target_language"), options.languages.target);
  if (const auto unknown = fields.choice("unknown", {"keep", "avoid", "copy"})) {
    options.unknown = *unknown == "keep"    ? UnknownWords::keep
                      : *unknown == "avoid" ? UnknownWords::avoid
                                            : UnknownWords::copy;
  }
  take_rules(fields, call, options.rules);
}

TranslateRequest take_request(Fields& fields, const Call& call, TranslationOptions options) {
  TranslateRequest request{.texts = take_texts(fields, "texts", "text", call), .options = std::move(options)};
  TranslationOptions& chosen = request.options;
  take_search(fields, call, chosen);
  chosen.alignments = fields.flag("align").value_or(false) ? Alignments::pieces : Alignments::none;
  chosen.each = fields.flag("tokens").value_or(false) ? EachToken::listed : EachToken::left_out;
  chosen.steps = fields.flag("trace").value_or(false) ? SearchSteps::listed : SearchSteps::left_out;
  request.lists_source_pieces = fields.flag("source_pieces").value_or(false);
  if (const auto prefix = fields.text("prefix")) {
    chosen.prefixes.assign(request.texts.size(), *prefix);
  }
  if (auto prefixes = fields.texts("prefixes", request.texts.size())) {
    if (prefixes->size() != request.texts.size() || !chosen.prefixes.empty()) {
      refuse_field("prefixes", "needs one for each text, and no prefix for all");
    }
    chosen.prefixes = std::move(*prefixes);
  }
  fields.finish();
  return request;
}

Json to_json(const Translation& translation, const TranslationOptions& options) {
  Json json{{"text", translation.text},
            {"score", translation.score},
            {"log_probability", translation.log_probability},
            {"tokens", translation.tokens}};
  if (options.alignments == Alignments::pieces) {
    json["alignment"] = Json::array();
    for (const AlignedPair& pair : translation.alignment) {
      json["alignment"].push_back({pair.source, pair.target});
    }
  }
  if (options.each == EachToken::listed) {
    json["each"] = json_of_tokens(translation.each);
  }
  return json;
}

Json json_of_steps(const std::vector<std::vector<SearchedToken>>& steps) {
  Json all = Json::array();
  for (const std::vector<SearchedToken>& step : steps) {
    Json tokens = Json::array();
    for (const SearchedToken& token : step) {
      tokens.push_back({{"parent", token.parent},
                        {"piece", token.piece},
                        {"id", token.id},
                        {"log_probability", token.token_log_probability},
                        {"total", token.log_probability},
                        {"finished", token.ended}});
    }
    all.push_back(std::move(tokens));
  }
  return all;
}

}  // namespace

void translate(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""));
  const Translator& translator = model.translator();
  TranslateRequest request = take_request(fields, call, translator.with_defaults());
  request.options.interruption = call.interruption();
  request.options.sharing = call.sharing();
  const auto found =
      translator.translate(request.texts, request.options, [](size_t i) { return fmt::format("texts[{}]", i); });
  Json lines = Json::array();
  for (const std::vector<Translation>& line : found) {
    Json translations = Json::array();
    for (const Translation& one : line) {
      call.count(0, one.tokens);
      translations.push_back(to_json(one, request.options));
    }
    Json answered{{"translations", std::move(translations)}};
    if (request.options.steps == SearchSteps::listed) {
      answered["steps"] = json_of_steps(found[lines.size()].front().steps);
    }
    if (request.lists_source_pieces) {
      answered["source_pieces"] = translator.source_pieces(request.texts[lines.size()]);
    }
    lines.push_back(std::move(answered));
  }
  call.answer({{"model", model.name()}, {"lines", std::move(lines)}});
}

// Of translations, given their sources, or of texts.
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
