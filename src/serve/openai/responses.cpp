// /v1/responses, in its plain text form.
#include <ctime>
#include <exception>

#include "serve/openai/chat_messages.h"
#include "serve/openai/logprobs.h"
#include "serve/openai/openai_paths.h"
#include "serve/openai/response_format.h"
#include "serve/openai/text_request.h"
#include "serve/request_error.h"

namespace heed::serve::openai {
namespace {

struct ResponseRequest {
  TextRequest text;
  Json given;  // what the answer repeats
};

void refuse_unsupported_of_responses(Fields& fields) {
  constexpr std::string_view kNotKept = "answers are not kept: send the whole conversation";
  refuse_tools(fields);
  refuse_fields(fields, {{"previous_response_id", kNotKept},
                         {"conversation", kNotKept},
                         {"prompt", "prompts are not kept: send the text"},
                         {"context_management", "the server keeps no conversations"},
                         {"moderation", "nothing is moderated"},
                         {"max_tool_calls", "tools are not supported"}});
  fields.only("background", false, "answers are not kept");
  fields.only("truncation", "disabled", "conversations that are too long are refused");
  if (const Json* reasoning = fields.find("reasoning")) {
    Fields parts(*reasoning, "reasoning.");
    parts.only("effort", "none", "say in a message how the model should think");
    parts.finish();
  }
}

// "include" may ask for the probabilities of tokens, and for nothing else.
void read_included(Fields& fields, GenerationOptions& options) {
  constexpr std::string_view kLogprobs = "message.output_text.logprobs";
  const Json* include = fields.find("include");
  const bool is_empty = include == nullptr || *include == Json::array();
  if (!is_empty && *include != Json::array({kLogprobs})) {
    refuse_field("include", "expected nothing or [\"{}\"]", kLogprobs);
  }
  const int64_t likeliest = fields.integer("top_logprobs", 0, kMaxLikeliest).value_or(0);
  if (is_empty && likeliest > 0) {
    refuse_field("top_logprobs", "needs \"include\": [\"{}\"]", kLogprobs);
  }
  options.each = is_empty ? EachToken::left_out : EachToken::listed;
  options.likeliest = likeliest;
}

void read_text_options(Fields& fields, std::string& regex) {
  const Json* given = fields.find("text");
  if (given == nullptr) {
    return;
  }
  Fields parts(*given, "text.");
  if (const Json* format = parts.find("format")) {
    read_format(*format, "text.format", SchemaPlace::beside, regex);
  }
  refuse_fields(parts, {{"verbosity", "say in a message how long the answer should be"}});
  parts.finish();
}

// The input is a text of the user, or a list of messages; instructions go before them.
Json read_input(Fields& fields) {
  Json messages = Json::array();
  if (const auto instructions = fields.text("instructions")) {
    messages.push_back({{"role", "system"}, {"content", *instructions}});
  }
  const Json& input = fields.get("input");
  if (input.is_string()) {
    messages.push_back({{"role", "user"}, {"content", input}});
    return messages;
  }
  for (Json& message : chat_messages(input, "input", kResponseParts)) {
    messages.push_back(std::move(message));
  }
  return messages;
}

Json or_default(Fields& fields, const char* name, const Json& otherwise) {
  const Json* given = fields.find(name);
  return given == nullptr ? otherwise : *given;
}

Json repeated(Fields& fields, const GenerationOptions& options) {
  const Json plain{{"format", {{"type", "text"}}}};
  return {{"instructions", or_default(fields, "instructions", nullptr)},
          {"max_output_tokens", or_default(fields, "max_output_tokens", nullptr)},
          {"metadata", or_default(fields, "metadata", Json::object())},
          {"parallel_tool_calls", or_default(fields, "parallel_tool_calls", true)},
          {"previous_response_id", nullptr},
          {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
          {"store", false},
          {"temperature", options.sampling.temperature},
          {"text", or_default(fields, "text", plain)},
          {"tool_choice", or_default(fields, "tool_choice", "auto")},
          {"tools", or_default(fields, "tools", Json::array())},
          {"top_p", or_default(fields, "top_p", options.sampling.top_p)},
          {"truncation", "disabled"},
          {"user", or_default(fields, "user", nullptr)}};
}

ResponseRequest read_response(Fields& fields, Call& call) {
  const ServedModel& model = call.model(fields.text("model").value_or(""));
  ResponseRequest request{
      .text = {.model = model, .options = sampling_defaults(model.generator()), .prompts = {}, .field = "input"},
      .given = {}};
  GenerationOptions& options = request.text.options;
  options.marks = PromptMarks::spelled;
  request.text.streaming = read_streaming(fields);
  if (request.text.streaming.last == Chunks::LastChunk::usage) {
    refuse_field("stream_options.include_usage", "is not known: the last event has the usage");
  }
  const auto max_tokens = fields.integer("max_output_tokens", 1, call.settings().max_tokens);
  read_sampling(fields, options.sampling);
  read_seed(fields, options.sampling);
  read_text_options(fields, options.regex);
  read_included(fields, options);
  refuse_unsupported_of_responses(fields);
  accept_harmless(fields);
  accept_harmless_of_answers(fields);
  Json messages = read_input(fields);
  const Json* template_options = fields.find("chat_template_kwargs");
  fields.finish();
  request.text.prompts.push_back(prompt_of_chat(model, std::move(messages), template_options, "input"));
  options.max_tokens = max_tokens ? *max_tokens : room_after_prompt(call, request.text);
  request.given = repeated(fields, options);
  return request;
}

// The answer's object while it is written and when it is whole, and its one message.
class ResponseObject {
 public:
  explicit ResponseObject(const ResponseRequest& request)
      : request_(request), id_(new_id("resp_")), message_id_(new_id("msg_")), created_(std::time(nullptr)) {}

  const std::string& message_id() const { return message_id_; }

  Json unfinished() const { return object("in_progress", Json::array(), nullptr, nullptr); }
  Json whole(const Completion& text, const Usage& usage) const {
    const bool is_cut = is_incomplete(text);
    return object(status_of(text), Json::array({message(text)}),
                  is_cut ? Json{{"reason", "max_output_tokens"}} : Json(),
                  {{"input_tokens", usage.read},
                   {"input_tokens_details", {{"cached_tokens", usage.cached}}},
                   {"output_tokens", usage.written},
                   {"output_tokens_details", {{"reasoning_tokens", 0}}},
                   {"total_tokens", usage.read + usage.written}});
  }

  static bool is_incomplete(const Completion& text) { return finish_reason(text.reason) == "length"; }
  static std::string_view status_of(const Completion& text) { return is_incomplete(text) ? "incomplete" : "completed"; }
  static Json logprobs(const Completion& text) { return chat_logprobs(text.each, text.text)["content"]; }
  static Json part(const Completion& text) {
    return {{"type", "output_text"}, {"text", text.text}, {"annotations", Json::array()}, {"logprobs", logprobs(text)}};
  }
  Json message(const Completion& text) const { return message(status_of(text), Json::array({part(text)})); }
  Json begun_message() const { return message("in_progress", Json::array()); }

 private:
  Json message(std::string_view status, Json content) const {
    return {{"type", "message"},
            {"id", message_id_},
            {"status", status},
            {"role", "assistant"},
            {"content", std::move(content)}};
  }
  Json object(std::string_view status, Json output, Json incomplete, Json usage) const {
    Json json{{"id", id_},
              {"object", "response"},
              {"created_at", created_},
              {"status", status},
              {"background", false},
              {"error", nullptr},
              {"incomplete_details", std::move(incomplete)},
              {"model", request_.text.model.name()},
              {"output", std::move(output)}};
    json.update(request_.given);
    json["usage"] = std::move(usage);
    return json;
  }

  const ResponseRequest& request_;
  std::string id_, message_id_;
  int64_t created_;
};

class ResponseEvents final : public TextEvents {
 public:
  ResponseEvents(Call& call, const ResponseObject& object) : call_(call), object_(object) {}

  void begin() override {
    send("response.created", {{"response", object_.unfinished()}});
    send("response.in_progress", {{"response", object_.unfinished()}});
    send("response.output_item.added", {{"output_index", 0}, {"item", object_.begun_message()}});
    send_of_part("response.content_part.added", {{"part", ResponseObject::part({})}});
  }
  void token(size_t /*text*/, const ScoredToken& token) override { tokens_.add(token); }
  void piece(size_t /*text*/, std::string_view piece) override {
    const std::vector<ScoredToken> tokens = tokens_.take(piece);
    send_of_part("response.output_text.delta",
                 {{"delta", piece}, {"logprobs", chat_logprobs(tokens, tokens_.text())["content"]}});
  }
  void end(size_t /*text*/, const Completion& text) override {
    send_of_part("response.output_text.done", {{"text", text.text}, {"logprobs", ResponseObject::logprobs(text)}});
    send_of_part("response.content_part.done", {{"part", ResponseObject::part(text)}});
    send("response.output_item.done", {{"output_index", 0}, {"item", object_.message(text)}});
  }
  void end_all(const Completion& text, const Usage& usage) {
    send(ResponseObject::is_incomplete(text) ? "response.incomplete" : "response.completed",
         {{"response", object_.whole(text, usage)}});
    call_.end_events();
  }
  // Clients read errors as the interface names them, or as those of other streams.
  void fail(const Failure& failure) {
    const Json error = Json::parse(answer_of(failure, ErrorForm::openai).body)["error"];
    send("error",
         {{"code", error["code"]}, {"message", error["message"]}, {"param", error["param"]}, {"error", error}});
    call_.end_events();
  }

 private:
  void send(std::string_view type, const Json& fields) {
    Json event{{"type", type}, {"sequence_number", sent_++}};
    event.update(fields);
    call_.send_event(to_text(event), type);
  }
  void send_of_part(std::string_view type, const Json& fields) {
    Json event{{"item_id", object_.message_id()}, {"output_index", 0}, {"content_index", 0}};
    event.update(fields);
    send(type, event);
  }

  Call& call_;
  const ResponseObject& object_;
  TokensOfPieces tokens_;
  int64_t sent_ = 0;
};

}  // namespace

void respond(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ResponseRequest request = read_response(fields, call);
  const ResponseObject object(request);
  if (!request.text.streaming.is_wanted) {
    const Written written = write_texts(call, request.text, nullptr);
    call.answer(object.whole(written.texts.front().front(), written.usage));
    return;
  }
  ResponseEvents events(call, object);
  try {
    const Written written = write_texts(call, request.text, &events);
    events.end_all(written.texts.front().front(), written.usage);
  } catch (const std::exception& error) {
    if (!call.exchange().has_begun()) {
      throw;
    }
    events.fail(call.failure_of(error, ErrorForm::openai));
  }
}

}  // namespace heed::serve::openai
