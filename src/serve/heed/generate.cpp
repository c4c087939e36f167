#include "serve/heed/heed_json.h"
#include "serve/heed/heed_paths.h"

namespace heed::serve {
namespace {

// Counts the times between tokens and, for a stream, sends what is written as it is written.
class WrittenTexts final : public GenerationListener {
 public:
  WrittenTexts(Call& call, Delivery delivery) : call_(call), is_streamed_(delivery == Delivery::streamed) {}

  void on_token(const Text& text, const ScoredToken& token) override {
    if (is_streamed_) {
      call_.send_event(to_text({{"sample", text.sample}, {"token", json_of_token(token)}}));
    }
  }
  void on_piece(const Text& text, std::string_view piece) override {
    call_.count_token(static_cast<size_t>(text.sample));
    if (is_streamed_) {
      call_.send_event(to_text({{"sample", text.sample}, {"text", piece}}));
    }
  }

 private:
  Call& call_;
  bool is_streamed_;
};

GenerationOptions take_options(Fields& fields, const Call& call, GenerationOptions options) {
  Fields::take(fields.integer("beam", 1, 1024), options.beam);
  Fields::take(fields.integer("samples", 1, 128), options.samples);
  options.max_tokens = std::min(options.max_tokens, call.settings().max_tokens);
  Fields::take(fields.integer("max_tokens", 1, call.settings().max_tokens), options.max_tokens);
  Fields::take(fields.texts("stop", 100), options.stop);
  Fields::take(fields.text("regex"), options.regex);
  Fields::take(take_rule_texts(fields, "choices", 1000), options.choices);
  Fields::take(fields.texts("force", 100), options.force);
  const ListedTokens listed = take_listed_tokens(fields);
  options.each = listed.each;
  options.likeliest = listed.likeliest;
  options.too_long = fields.flag("cut_prompt").value_or(false) ? TooLong::truncate : TooLong::refuse;
  take_sampling(fields, options.sampling);
  take_rules(fields, call, options.rules);
  return options;
}

int64_t count_prompt(const Generator& generator, const std::string& prompt, const GenerationOptions& options) {
  try {
    return generator.count_tokens(prompt, options, "prompt");
  } catch (const TooLongError& error) {
    throw RequestError(400, "prompt", fmt::format("{} (\"cut_prompt\": true)", error.what()));
  }
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
  const Delivery delivery = take_delivery(fields);
  const std::array prompts{take_prompt(fields, model, options)};
  fields.finish();
  options.interruption = call.interruption();
  options.sharing = call.sharing();
  const auto name = [](size_t) { return std::string("prompt"); };
  call.count(count_prompt(generator, prompts.front(), options), 0);
  WrittenTexts written(call, delivery);
  const auto found = generator.generate(prompts, options, &written, name);
  Json texts = Json::array();
  for (const Completion& completion : found.front()) {
    call.count(0, completion.tokens);
    texts.push_back(to_json(completion, options));
  }
  answer(call,
         {{"model", model.name()},
          {"prompt_tokens", call.read()},
          {"cached_tokens", found.front().front().cached},
          {"texts", std::move(texts)}},
         delivery);
}

}  // namespace heed::serve
