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
  Delivery delivery = Delivery::whole;
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
  Fields::take(fields.choice("unknown", kUnknownWordsNames), options.unknown);
  take_rules(fields, call, options.rules);
}

// Each text has a beam, and one for each of its alternatives.
void require_few_sequences(const TranslateRequest& request, const Call& call) {
  const int64_t each = request.options.beam * std::max<int64_t>(1, request.options.alternatives);
  const int64_t all = std::ssize(request.texts) * each;
  if (all > call.settings().sequences) {
    refuse_field(request.options.alternatives > 1 ? "alternatives" : "beam",
                 "{} texts with {} hypotheses each are {} in all, at most {} are allowed", request.texts.size(), each,
                 all, call.settings().sequences);
  }
}

TranslateRequest take_request(Fields& fields, const Call& call, TranslationOptions options) {
  TranslateRequest request{.texts = take_texts(fields, "texts", "text", call), .options = std::move(options)};
  TranslationOptions& chosen = request.options;
  take_search(fields, call, chosen);
  require_few_sequences(request, call);
  chosen.alignments = fields.flag("align").value_or(false) ? Alignments::pieces : Alignments::none;
  const ListedTokens listed = take_listed_tokens(fields);
  chosen.each = listed.each;
  chosen.likeliest = listed.likeliest;
  chosen.steps = fields.flag("trace").value_or(false) ? SearchSteps::listed : SearchSteps::left_out;
  request.lists_source_pieces = fields.flag("source_pieces").value_or(false);
  request.delivery = take_delivery(fields);
  if (const auto prefix = fields.text("prefix")) {
    chosen.prefixes.assign(request.texts.size(), *prefix);
  }
  if (auto prefixes = fields.texts("prefixes", request.texts.size())) {
    if (prefixes->size() != request.texts.size() || !chosen.prefixes.empty()) {
      refuse_field("prefixes", "needs one for each text, and cannot be given together with prefix");
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
  if (translation.place) {
    json["place"] = {translation.place->step, translation.place->hypothesis};
  }
  return json;
}

Json json_of_step(std::span<const BeamHypothesis> step) {
  Json hypotheses = Json::array();
  for (const BeamHypothesis& hypothesis : step) {
    hypotheses.push_back({{"parent", hypothesis.parent},
                          {"group", hypothesis.group},
                          {"piece", hypothesis.piece},
                          {"id", hypothesis.id},
                          {"log_probability", hypothesis.token_log_probability},
                          {"total", hypothesis.log_probability},
                          {"score", hypothesis.score},
                          {"fate", name_of(hypothesis.fate)}});
  }
  return hypotheses;
}

Json json_of_line(std::span<const Translation> line, const TranslationOptions& options) {
  Json translations = Json::array();
  for (const Translation& one : line) {
    translations.push_back(to_json(one, options));
  }
  return translations;
}

// Sends translations as they are written.
class WrittenTranslations final : public TranslationListener {
 public:
  WrittenTranslations(Call& call, const TranslationOptions& options) : call_(call), options_(options) {}

  void on_token(size_t line, const ScoredToken& token) override {
    call_.send_event(to_text({{"line", line}, {"token", json_of_token(token)}}));
  }
  void on_piece(size_t line, std::string_view piece) override {
    call_.count_token(line);
    call_.send_event(to_text({{"line", line}, {"text", piece}}));
  }
  void on_step(size_t line, std::span<const BeamHypothesis> hypotheses) override {
    call_.send_event(to_text({{"line", line}, {"step", json_of_step(hypotheses)}}));
  }
  void on_translations(size_t line, std::span<const Translation> translations) override {
    call_.send_event(to_text({{"line", line}, {"translations", json_of_line(translations, options_)}}));
  }

 private:
  Call& call_;
  const TranslationOptions& options_;
};

}  // namespace

void translate(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""));
  const Translator& translator = model.translator();
  TranslateRequest request = take_request(fields, call, translator.with_defaults());
  request.options.interruption = call.interruption();
  request.options.sharing = call.sharing();
  const auto name = [](size_t i) { return fmt::format("texts[{}]", i); };
  WrittenTranslations written(call, request.options);
  const auto found = translator.translate(request.texts, request.options, name,
                                          request.delivery == Delivery::streamed ? &written : nullptr);
  Json lines = Json::array();
  for (const std::vector<Translation>& line : found) {
    call.count(line.front().source_tokens, 0);
    if (request.delivery == Delivery::whole) {
      call.observe_first_token(line.front().first_token);
    }
    for (const Translation& one : line) {
      call.count(0, one.tokens);
    }
    Json answered{{"translations", json_of_line(line, request.options)}};
    if (request.options.steps == SearchSteps::listed) {
      answered["steps"] = list_of(line.front().trace.steps, json_of_step);
      answered["steps_complete"] = line.front().trace.is_complete;
    }
    if (request.lists_source_pieces) {
      answered["source_pieces"] = translator.source_pieces(request.texts[lines.size()]);
    }
    lines.push_back(std::move(answered));
  }
  answer(call, {{"model", model.name()}, {"lines", std::move(lines)}}, request.delivery);
}

}  // namespace heed::serve
