#include "serve/heed/heed_json.h"
#include "serve/heed/heed_paths.h"

namespace heed::serve {
namespace {

// Sends what is written as events, as it is written.
class EventsOfTexts final : public GenerationListener {
 public:
  explicit EventsOfTexts(Call& call) : call_(call) {}

  void on_piece(const Text& text, std::string_view piece) override {
    call_.count_token();
    call_.send_event(
        Json{{"sample", text.sample}, {"text", piece}}.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

 private:
  Call& call_;
};

// Counts the times between tokens of answers that are not streamed.
class TimesOfTexts final : public GenerationListener {
 public:
  explicit TimesOfTexts(Call& call) : call_(call) {}
  void on_piece(const Text& /*text*/, std::string_view /*piece*/) override { call_.count_token(); }

 private:
  Call& call_;
};

GenerationOptions take_options(Fields& fields, const Call& call, GenerationOptions options) {
  Fields::take(fields.integer("beam", 1, 1024), options.beam);
  Fields::take(fields.integer("samples", 1, 128), options.samples);
  options.max_tokens = std::min(options.max_tokens, call.settings().max_tokens);
  Fields::take(fields.integer("max_tokens", 1, call.settings().max_tokens), options.max_tokens);
  Fields::take(fields.texts("stop", 100), options.stop);
  Fields::take(fields.text("regex"), options.regex);
  Fields::take(fields.texts("choices", 1000), options.choices);
  Fields::take(fields.texts("force", 100), options.force);
  options.each = fields.flag("tokens").value_or(false) ? EachToken::listed : EachToken::left_out;
  options.too_long = fields.flag("cut_prompt").value_or(false) ? TooLong::truncate : TooLong::refuse;
  take_sampling(fields, options.sampling);
  take_rules(fields, call, options.rules);
  return options;
}

Json to_json(const Completion& completion, const GenerationOptions& options) {
  Json json{{"text", completion.text},       {"finish", name_of(completion.reason)},
            {"tokens", completion.tokens},   {"log_probability", completion.log_probability},
            {"drafted", completion.drafted}, {"accepted", completion.accepted}};
  if (options.each == EachToken::listed) {
    json["each"] = json_of_tokens(completion.each);
  }
  return json;
}

}  // namespace

void generate(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""));
  const Generator& generator = model.generator();
  GenerationOptions options = take_options(fields, call, generator.with_defaults());
  const bool is_streamed = fields.flag("stream").value_or(false);
  const std::array prompts{take_prompt(fields, model, options)};
  fields.finish();
  options.interruption = call.interruption();
  options.sharing = call.sharing();
  EventsOfTexts events(call);
  TimesOfTexts times(call);
  GenerationListener* const listener = is_streamed ? static_cast<GenerationListener*>(&events) : &times;
  const auto found = generator.generate(prompts, options, listener, [](size_t) { return std::string("prompt"); });
  Json texts = Json::array();
  for (const Completion& completion : found.front()) {
    call.count(0, completion.tokens);
    texts.push_back(to_json(completion, options));
  }
  const Json answer{{"model", model.name()}, {"texts", std::move(texts)}};
  if (is_streamed) {
    call.end_events(answer.dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    call.answer(answer);
  }
}

}  // namespace heed::serve
