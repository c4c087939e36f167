// /v1/completions
#include <algorithm>
#include <numeric>

#include "serve/openai/logprobs.h"
#include "serve/openai/openai_paths.h"
#include "serve/openai/response_format.h"
#include "serve/openai/text_request.h"
#include "serve/request_error.h"

namespace heed::serve::openai {
namespace {

constexpr int64_t kMaxTexts = 128, kMaxBestOf = 20, kDefaultTokens = 16, kMaxLogprobs = 5;

struct CompletionRequest {
  TextRequest texts;
  int64_t wanted = 1;  // of the texts of each prompt: the likeliest
  bool echoes = false;
};

std::vector<std::string> read_prompts(Fields& fields, const Call& call) {
  const Json& prompt = fields.get("prompt");
  if (prompt.is_array() && !prompt.empty() && (prompt[0].is_number() || prompt[0].is_array())) {
    refuse_field("prompt", "has token ids, expected a text or a list of texts");
  }
  return *fields.texts("prompt", static_cast<size_t>(call.settings().texts));
}

void read_counts(Fields& fields, const Call& call, CompletionRequest& request) {
  GenerationOptions& options = request.texts.options;
  options.max_tokens = fields.integer("max_tokens", 1, call.settings().max_tokens).value_or(kDefaultTokens);
  request.wanted = fields.integer("n", 1, kMaxTexts).value_or(1);
  options.samples = request.wanted;
  if (const auto best_of = fields.integer("best_of", 1, kMaxBestOf)) {
    if (*best_of < request.wanted) {
      refuse_field("best_of", "is {}, less than the {} texts of \"n\"", *best_of, request.wanted);
    }
    if (*best_of > request.wanted && request.texts.streaming.is_wanted) {
      refuse_field("best_of", "is more than \"n\", but a stream can't wait for the best texts");
    }
    options.samples = *best_of;
  }
  const int64_t all = options.samples * std::ssize(request.texts.prompts);
  if (all > call.settings().texts) {
    refuse_field(options.samples > request.wanted ? "best_of" : "n", "asks for {} texts in all, at most {} are allowed",
                 all, call.settings().texts);
  }
}

CompletionRequest read_completion(Fields& fields, Call& call) {
  const ServedModel& model = call.model(fields.text("model").value_or(""));
  CompletionRequest request{.texts = {.model = model,
                                      .options = sampling_defaults(model.generator()),
                                      .prompts = read_prompts(fields, call),
                                      .field = "prompt"}};
  GenerationOptions& options = request.texts.options;
  request.texts.streaming = read_streaming(fields);
  read_counts(fields, call, request);
  read_sampling(fields, options.sampling);
  read_seed(fields, options.sampling);
  read_stop(fields, options);
  if (const Json* format = fields.find("response_format")) {
    read_format(*format, "response_format", SchemaPlace::inside, options.regex);
  }
  request.echoes = fields.flag("echo").value_or(false);
  if (const auto likeliest = fields.integer("logprobs", 0, kMaxLogprobs)) {
    options.each = EachToken::listed;
    options.likeliest = *likeliest;
    if (request.echoes) {
      refuse_field("echo", "the prompt's tokens have no probabilities here: leave out \"echo\" or \"logprobs\"");
    }
  }
  fields.only("suffix", "", "the model does not fill gaps");
  accept_harmless(fields);
  fields.finish();
  return request;
}

struct Choice {
  size_t index;
  std::string text;
  Json logprobs = {}, finish = {};
};

Json json_of(Choice choice) {
  return {{"text", std::move(choice.text)},
          {"index", choice.index},
          {"logprobs", std::move(choice.logprobs)},
          {"finish_reason", std::move(choice.finish)}};
}

class CompletionEvents final : public TextEvents {
 public:
  CompletionEvents(Call& call, const CompletionRequest& request, const Heading& heading)
      : request_(request),
        chunks_(call, heading, request.texts.streaming.last),
        tokens_(request.texts.prompts.size() * static_cast<size_t>(request.texts.options.samples)) {}

  void begin() override {
    const auto samples = static_cast<size_t>(request_.texts.options.samples);
    for (size_t i = 0; request_.echoes && i < tokens_.size(); ++i) {
      chunks_.send(json_of({i, request_.texts.prompts[i / samples]}));
    }
  }
  void token(size_t text, const ScoredToken& token) override { tokens_[text].add(token); }
  void piece(size_t text, std::string_view piece) override {
    Json logprobs;
    if (request_.texts.options.each == EachToken::listed) {
      const std::vector<ScoredToken> tokens = tokens_[text].take(piece);
      logprobs = completion_logprobs(tokens, tokens_[text].text());
    }
    chunks_.send(json_of({text, std::string(piece), std::move(logprobs)}));
  }
  void end(size_t text, const Completion& completion) override {
    chunks_.send(json_of({text, "", nullptr, finish_reason(completion.reason)}));
  }
  void end_all(const Usage& usage) { chunks_.end(usage); }

 private:
  const CompletionRequest& request_;
  Chunks chunks_;
  std::vector<TokensOfPieces> tokens_;  // of each text
};

// The likeliest texts by token, the best first.
void keep_best(std::vector<Completion>& texts, int64_t wanted) {
  if (std::ssize(texts) == wanted) {
    return;
  }
  const auto of_token = [](const Completion& text) {
    return text.log_probability / static_cast<double>(std::max<int64_t>(text.tokens, 1));
  };
  std::ranges::stable_sort(texts, std::ranges::greater(), of_token);
  texts.resize(static_cast<size_t>(wanted));
}

}  // namespace

void complete(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const CompletionRequest request = read_completion(fields, call);
  const Heading head = heading("cmpl-", "text_completion", request.texts.model);
  if (request.texts.streaming.is_wanted) {
    CompletionEvents events(call, request, head);
    events.end_all(write_texts(call, request.texts, &events).usage);
    return;
  }
  Written written = write_texts(call, request.texts, nullptr);
  const bool lists_tokens = request.texts.options.each == EachToken::listed;
  Json choices = Json::array();
  for (size_t prompt = 0; prompt < written.texts.size(); ++prompt) {
    keep_best(written.texts[prompt], request.wanted);
    for (const Completion& text : written.texts[prompt]) {
      choices.push_back(
          json_of({choices.size(), (request.echoes ? request.texts.prompts[prompt] : "") + text.text,
                   lists_tokens ? completion_logprobs(text.each, text.text) : Json(), finish_reason(text.reason)}));
    }
  }
  Json answer = head.json();
  answer["choices"] = std::move(choices);
  answer["usage"] = usage_json(written.usage);
  call.answer(answer);
}

}  // namespace heed::serve::openai
