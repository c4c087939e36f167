#include "serve/heed/heed_json.h"

#include "serve/json/logit_bias.h"
#include "text/unicode/unicode.h"

namespace heed::serve {

namespace {

Json json_of_likely(const LikelyToken& token) {
  Json json{{"piece", token.piece}, {"id", token.id}, {"log_probability", token.log_probability}};
  if (token.bytes) {
    // A part of a character has no text.
    json["text"] = find_invalid_utf8(*token.bytes) ? Json() : Json(*token.bytes);
  }
  return json;
}

}  // namespace

Json json_of_token(const ScoredToken& token) {
  Json json = json_of_likely(token);
  json["offset"] = token.text_offset;
  if (!token.likeliest.empty()) {
    json["top"] = Json::array();
    for (const LikelyToken& likely : token.likeliest) {
      json["top"].push_back(json_of_likely(likely));
    }
  }
  return json;
}

Json json_of_tokens(const std::vector<ScoredToken>& tokens) { return list_of(tokens, json_of_token); }

std::vector<std::string> take_texts(Fields& fields, const char* texts, const char* text, const Call& call) {
  const auto most = static_cast<size_t>(call.settings().texts);
  std::optional<std::vector<std::string>> several = fields.texts(texts, most);
  std::optional<std::string> one = fields.text(text);
  if (several && one) {
    refuse_field(text, "is given together with {}", texts);
  }
  if (!several && !one) {
    refuse_field(texts, "is missing");
  }
  return several ? std::move(*several) : std::vector{std::move(*one)};
}

std::string take_prompt(Fields& fields, const ServedModel& model, GenerationOptions& options) {
  const Json* messages = fields.find("messages");
  const std::optional<std::string> prompt = fields.text("prompt");
  const std::string prefix = fields.text("prefix").value_or("");
  if ((messages == nullptr) == !prompt.has_value()) {
    refuse_field("prompt", "either prompt or messages is needed");
  }
  if (prompt) {
    return *prompt + prefix;
  }
  options.marks = PromptMarks::spelled;
  return model.chat().prompt(Json{{"messages", *messages}}.dump(), "messages") + prefix;
}

ListedTokens take_listed_tokens(Fields& fields) {
  const int64_t likeliest = fields.integer("top_tokens", 0, kMaxLikeliest).value_or(0);
  const bool are_listed = fields.flag("tokens").value_or(false) || likeliest > 0;
  return {are_listed ? EachToken::listed : EachToken::left_out, likeliest};
}

std::optional<std::vector<std::string>> take_rule_texts(Fields& fields, const char* name, size_t most) {
  constexpr size_t kMostBytes = 1U << 17U;
  std::optional<std::vector<std::string>> texts = fields.texts(name, most);
  size_t bytes = 0;
  for (const std::string& text : texts.value_or(std::vector<std::string>{})) {
    bytes += text.size();
  }
  if (bytes > kMostBytes) {
    refuse_field(name, "{} bytes, but there may be {} together", bytes, kMostBytes);
  }
  return texts;
}

void take_rules(Fields& fields, const Call& call, WritingRules& rules) {
  Fields::take(fields.integer("min_tokens", 0, call.settings().max_tokens), rules.min_length);
  Fields::take(fields.integer("no_repeat_ngram", 0, call.settings().max_tokens), rules.no_repeat_ngram);
  Fields::take(take_rule_texts(fields, "suppress", 100), rules.suppress);
}

void take_sampling(Fields& fields, SamplingOptions& sampling) {
  constexpr double kMost = 1e6;
  Fields::take(fields.number("temperature", 0.0, kMost), sampling.temperature);
  Fields::take(fields.integer("top_k", 0, INT32_MAX), sampling.top_k);
  Fields::take(fields.number("top_p", 0.0, 1.0), sampling.top_p);
  Fields::take(fields.number("min_p", 0.0, 1.0), sampling.min_p);
  Fields::take(fields.number("repetition_penalty", 0.0, kMost), sampling.repetition_penalty);
  Fields::take(fields.number("presence_penalty", -kMost, kMost), sampling.presence_penalty);
  Fields::take(fields.number("frequency_penalty", -kMost, kMost), sampling.frequency_penalty);
  Fields::take(fields.integer("seed", 0, INT64_MAX), sampling.seed);
  take_logit_bias(fields, sampling);
}

Delivery take_delivery(Fields& fields) {
  return fields.flag("stream").value_or(false) ? Delivery::streamed : Delivery::whole;
}

void answer(Call& call, const Json& whole, Delivery delivery) {
  if (delivery == Delivery::streamed) {
    call.end_events(to_text(whole));
  } else {
    call.answer(whole);
  }
}

}  // namespace heed::serve
