// /v1/completions
#include <algorithm>
#include <numeric>

#include "serve/json/logit_bias.h"
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
  bool is_only_echo = false;  // nothing is written

  bool lists_tokens() const { return texts.options.each == EachToken::listed; }
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
  const int64_t max_tokens =
      fields.integer("max_tokens", request.echoes ? 0 : 1, call.settings().max_tokens).value_or(kDefaultTokens);
  request.is_only_echo = max_tokens == 0;
  options.max_tokens = std::max<int64_t>(max_tokens, 1);
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
  request.echoes = fields.flag("echo").value_or(false);
  read_counts(fields, call, request);
  read_sampling(fields, options.sampling);
  read_seed(fields, options.sampling);
  take_logit_bias(fields, options.sampling);
  read_stop(fields, options);
  if (const Json* format = fields.find("response_format")) {
    read_format(*format, "response_format", SchemaPlace::inside, options.regex);
  }
  if (const auto likeliest = fields.integer("logprobs", 0, kMaxLogprobs)) {
    options.each = EachToken::listed;
    options.likeliest = *likeliest;
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

// The prompts where a request asks for them: what stands before each text.
class Echo {
 public:
  Echo(const Call& call, const CompletionRequest& request) : request_(request) {
    if (request.echoes && request.lists_tokens()) {
      tokens_ = score_prompts(call, request.texts);
    }
  }

  const std::string& text(size_t prompt) const {
    static const std::string kNothing;
    return request_.echoes ? request_.texts.prompts[prompt] : kNothing;
  }
  // Null where tokens are not listed.
  Json logprobs(size_t prompt) const {
    return request_.lists_tokens() ? prompt_logprobs(tokens_[prompt], text(prompt)) : Json();
  }
  // The log-probabilities of the tokens after it.
  Json logprobs_after(size_t prompt, std::span<const ScoredToken> tokens, std::string_view text) const {
    return completion_logprobs(tokens, text, characters_of(this->text(prompt)));
  }
  Json logprobs_of_all(size_t prompt, const Completion& completion) const {
    if (!request_.lists_tokens()) {
      return {};
    }
    if (!request_.echoes) {
      return completion_logprobs(completion.each, completion.text);
    }
    Json all = logprobs(prompt);
    append_logprobs(all, completion.reason == FinishReason::stop
                             ? logprobs_after(prompt, completion.each, completion.text)
                             : all_logprobs(completion.each, completion.text, characters_of(text(prompt))));
    return all;
  }

 private:
  const CompletionRequest& request_;
  std::vector<std::vector<ScoredToken>> tokens_;  // of each prompt, where tokens are listed
};

class CompletionEvents final : public TextEvents {
 public:
  CompletionEvents(Call& call, const CompletionRequest& request, const Heading& heading, const Echo& echo)
      : request_(request),
        echo_(echo),
        chunks_(call, heading, request.texts.streaming.last),
        tokens_(request.texts.prompts.size() * static_cast<size_t>(request.texts.options.samples)) {}

  void begin() override {
    for (size_t i = 0; request_.echoes && i < tokens_.size(); ++i) {
      chunks_.send(json_of({i, echo_.text(prompt_of(i)), echo_.logprobs(prompt_of(i))}));
    }
  }
  void token(size_t text, const ScoredToken& token) override { tokens_[text].add(token); }
  void piece(size_t text, std::string_view piece) override {
    Json logprobs;
    if (request_.lists_tokens()) {
      const std::vector<ScoredToken> tokens = tokens_[text].take(piece);
      logprobs = echo_.logprobs_after(prompt_of(text), tokens, tokens_[text].text());
    }
    chunks_.send(json_of({text, std::string(piece), std::move(logprobs)}));
  }
  void end(size_t text, const Completion& completion) override {
    const std::vector<ScoredToken> rest = tokens_[text].take_rest();
    Json logprobs;
    if (request_.echoes && !rest.empty() && completion.reason != FinishReason::stop) {
      logprobs = all_logprobs(rest, tokens_[text].text(), characters_of(echo_.text(prompt_of(text))));
    }
    chunks_.send(json_of({text, "", std::move(logprobs), finish_reason(completion.reason)}));
  }
  void end_all(const Usage& usage) { chunks_.end(usage); }

 private:
  size_t prompt_of(size_t text) const { return text / static_cast<size_t>(request_.texts.options.samples); }

  const CompletionRequest& request_;
  const Echo& echo_;
  Chunks chunks_;
  std::vector<TokensOfPieces> tokens_;  // of each text
};

// Texts of no tokens, after prompts that are only read.
Written write_nothing(Call& call, const CompletionRequest& request, TextEvents* events) {
  const TextRequest& texts = request.texts;
  naming_fields(texts.field, [&] { return texts.model.generator().generate({}, texts.options); });  // refuses options
  Written written{.texts = {}, .usage = {.read = count_prompts(texts)}};
  const Completion nothing{.reason = FinishReason::length};
  written.texts.assign(texts.prompts.size(), std::vector(static_cast<size_t>(texts.options.samples), nothing));
  call.count(written.usage.read, 0);
  if (events != nullptr) {
    events->begin();
    for (size_t i = 0; i < texts.prompts.size() * static_cast<size_t>(texts.options.samples); ++i) {
      events->end(i, nothing);
    }
  }
  return written;
}

Written write_completions(Call& call, const CompletionRequest& request, TextEvents* events) {
  return request.is_only_echo ? write_nothing(call, request, events) : write_texts(call, request.texts, events);
}

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
  const Echo echo(call, request);
  if (request.texts.streaming.is_wanted) {
    CompletionEvents events(call, request, head, echo);
    events.end_all(write_completions(call, request, &events).usage);
    return;
  }
  Written written = write_completions(call, request, nullptr);
  Json choices = Json::array();
  for (size_t prompt = 0; prompt < written.texts.size(); ++prompt) {
    keep_best(written.texts[prompt], request.wanted);
    for (const Completion& text : written.texts[prompt]) {
      choices.push_back(json_of({choices.size(), echo.text(prompt) + text.text, echo.logprobs_of_all(prompt, text),
                                 finish_reason(text.reason)}));
    }
  }
  Json answer = head.json();
  answer["choices"] = std::move(choices);
  answer["usage"] = usage_json(written.usage);
  call.answer(answer);
}

}  // namespace heed::serve::openai
