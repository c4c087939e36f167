// /v1/chat/completions
#include <algorithm>

#include "serve/json/logit_bias.h"
#include "serve/openai/chat_messages.h"
#include "serve/openai/logprobs.h"
#include "serve/openai/openai_paths.h"
#include "serve/openai/response_format.h"
#include "serve/openai/text_request.h"
#include "serve/request_error.h"

namespace heed::serve::openai {
namespace {

constexpr int64_t kMaxAnswers = 128;

std::optional<int64_t> read_max_tokens(Fields& fields, const Call& call) {
  const auto old_name = fields.integer("max_tokens", 1, call.settings().max_tokens);
  const auto new_name = fields.integer("max_completion_tokens", 1, call.settings().max_tokens);
  if (old_name && new_name && *old_name != *new_name) {
    refuse_field("max_tokens", "is {}, but \"max_completion_tokens\", which means the same, is {}", *old_name,
                 *new_name);
  }
  return new_name ? new_name : old_name;
}

void read_logprobs(Fields& fields, GenerationOptions& options) {
  const bool are_wanted = fields.flag("logprobs").value_or(false);
  const auto likeliest = fields.integer("top_logprobs", 0, kMaxLikeliest);
  if (likeliest && !are_wanted) {
    refuse_field("top_logprobs", "needs \"logprobs\": true");
  }
  options.each = are_wanted ? EachToken::listed : EachToken::left_out;
  options.likeliest = likeliest.value_or(0);
}

void refuse_unsupported_of_chat(Fields& fields) {
  refuse_tools(fields);
  fields.only("functions", Json::array(), "tools are not supported");
  fields.only("function_call", "none", "tools are not supported");
  fields.only("modalities", Json::array({"text"}), "the model writes only text");
  refuse_fields(fields, {{"audio", "the model writes only text"},
                         {"prediction", "the answer can't be given in advance"},
                         {"moderation", "nothing is moderated"},
                         {"web_search_options", "the model does not search"},
                         {"verbosity", "say in a message how long the answer should be"}});
}

TextRequest read_chat(Fields& fields, Call& call) {
  const ServedModel& model = call.model(fields.text("model").value_or(""));
  TextRequest request{
      .model = model, .options = sampling_defaults(model.generator()), .prompts = {}, .field = "messages"};
  GenerationOptions& options = request.options;
  options.marks = PromptMarks::spelled;
  request.streaming = read_streaming(fields);
  const auto max_tokens = read_max_tokens(fields, call);
  options.samples = fields.integer("n", 1, std::min(kMaxAnswers, call.settings().texts)).value_or(1);
  read_sampling(fields, options.sampling);
  read_seed(fields, options.sampling);
  take_logit_bias(fields, options.sampling);
  read_stop(fields, options);
  if (const Json* format = fields.find("response_format")) {
    read_format(*format, "response_format", SchemaPlace::inside, options.regex);
  }
  refuse_unsupported_of_chat(fields);
  accept_harmless(fields);
  accept_harmless_of_answers(fields);
  read_logprobs(fields, options);
  fields.only("reasoning_effort", "none", "say in a message how the model should think");
  Json messages = chat_messages(fields.get("messages"), "messages", kChatParts);
  const Json* template_options = fields.find("chat_template_kwargs");
  fields.finish();
  request.prompts.push_back(prompt_of_chat(model, std::move(messages), template_options, "messages"));
  options.max_tokens = max_tokens ? *max_tokens : room_after_prompt(call, request);
  return request;
}

class ChatEvents final : public TextEvents {
 public:
  ChatEvents(Call& call, const TextRequest& request)
      : request_(request),
        chunks_(call, heading("chatcmpl-", "chat.completion.chunk", request.model), request.streaming.last),
        tokens_(static_cast<size_t>(request.options.samples)) {}

  // Clients add answers in the order in which their first chunks come.
  void begin() override {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      send({i, {{"role", "assistant"}, {"content", ""}, {"refusal", nullptr}}});
    }
  }
  void token(size_t text, const ScoredToken& token) override { tokens_[text].add(token); }
  void piece(size_t text, std::string_view piece) override {
    Json logprobs;
    if (request_.options.each == EachToken::listed) {
      const std::vector<ScoredToken> tokens = tokens_[text].take(piece);
      logprobs = chat_logprobs(tokens, tokens_[text].text());
    }
    send({text, {{"content", piece}}, std::move(logprobs)});
  }
  void end(size_t text, const Completion& completion) override {
    send({text, Json::object(), nullptr, finish_reason(completion.reason)});
  }
  void end_all(const Usage& usage) { chunks_.end(usage); }

 private:
  struct Choice {
    size_t index;
    Json delta, logprobs = {}, finish = {};
  };
  void send(Choice choice) {
    chunks_.send({{"index", choice.index},
                  {"delta", std::move(choice.delta)},
                  {"logprobs", std::move(choice.logprobs)},
                  {"finish_reason", std::move(choice.finish)}});
  }

  const TextRequest& request_;
  Chunks chunks_;
  std::vector<TokensOfPieces> tokens_;  // of each text
};

}  // namespace

void complete_chat(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const TextRequest request = read_chat(fields, call);
  if (request.streaming.is_wanted) {
    ChatEvents events(call, request);
    events.end_all(write_texts(call, request, &events).usage);
    return;
  }
  const Written written = write_texts(call, request, nullptr);
  const bool lists_tokens = request.options.each == EachToken::listed;
  Json choices = Json::array();
  for (const Completion& text : written.texts.front()) {
    choices.push_back({{"index", choices.size()},
                       {"message", {{"role", "assistant"}, {"content", text.text}, {"refusal", nullptr}}},
                       {"logprobs", lists_tokens ? chat_logprobs(text.each, text.text) : Json()},
                       {"finish_reason", finish_reason(text.reason)}});
  }
  Json answer = heading("chatcmpl-", "chat.completion", request.model).json();
  answer["choices"] = std::move(choices);
  answer["usage"] = usage_json(written.usage);
  call.answer(answer);
}

}  // namespace heed::serve::openai
