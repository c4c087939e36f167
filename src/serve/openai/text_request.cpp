#include "serve/openai/text_request.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <utility>

#include "serve/request_error.h"

namespace heed::serve::openai {
namespace {

constexpr size_t kMaxStops = 4;

// Counts tokens, and passes on what happens.
class Listener final : public GenerationListener {
 public:
  Listener(Call& call, const TextRequest& request, TextEvents* events)
      : call_(call), request_(request), events_(events) {}

  void on_token(const Text& text, const ScoredToken& token) override {
    if (events_ != nullptr) {
      events_->token(request_.number(text), token);
    }
  }

  void on_piece(const Text& text, std::string_view piece) override {
    call_.count_token(request_.number(text));
    if (events_ != nullptr) {
      begin();
      events_->piece(request_.number(text), piece);
    }
  }

  void on_completion(const Text& text, const Completion& completion) override {
    const bool is_whole = completion.reason != FinishReason::deadline && completion.reason != FinishReason::cancelled;
    if (events_ != nullptr && is_whole) {
      begin();
      events_->end(request_.number(text), completion);
    }
  }

 private:
  void begin() {
    if (!std::exchange(has_begun_, true)) {
      events_->begin();
    }
  }

  Call& call_;
  const TextRequest& request_;
  TextEvents* events_;
  bool has_begun_ = false;
};

std::string prompt_name(const TextRequest& request, size_t prompt) {
  return request.prompts.size() == 1 ? request.field : fmt::format("{}[{}]", request.field, prompt);
}

}  // namespace

void refuse_as_field(const std::string& message, const std::string& field) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kFields{
      {{"stop text", "stop"},
       {"regular expression", "response_format"},
       {"constraints", "response_format"},
       {"logit bias", "logit_bias"}}};
  const std::string_view where = std::string_view(message).substr(0, message.find(": "));
  const auto known = std::ranges::find(kFields, where, &std::pair<std::string_view, std::string_view>::first);
  if (known != kFields.end()) {
    throw RequestError(400, std::string(known->second), fmt::format("{}: {}", known->second, message));
  }
  throw RequestError(400, where.starts_with(field) ? std::string(where) : "", message);
}

GenerationOptions sampling_defaults(const Generator& generator) {
  GenerationOptions options = generator.with_defaults();
  options.beam = 1;
  std::random_device device;
  options.sampling.seed = (uint64_t{device()} << 32U) | device();
  return options;
}

void read_sampling(Fields& fields, SamplingOptions& sampling) {
  constexpr double kMost = 2.0, kMostRepetition = 100.0;
  Fields::take(fields.number("temperature", 0.0, kMost), sampling.temperature);
  if (const auto top_p = fields.number("top_p", 0.0, 1.0)) {
    // With 0 the likeliest token alone is kept.
    sampling.top_p = std::max(*top_p, std::numeric_limits<double>::min());
  }
  Fields::take(fields.number("presence_penalty", -kMost, kMost), sampling.presence_penalty);
  Fields::take(fields.number("frequency_penalty", -kMost, kMost), sampling.frequency_penalty);
  Fields::take(fields.integer("top_k", 0, std::numeric_limits<int32_t>::max()), sampling.top_k);
  Fields::take(fields.number("min_p", 0.0, 1.0), sampling.min_p);
  if (const auto penalty = fields.number("repetition_penalty", 0.0, kMostRepetition)) {
    if (*penalty == 0.0) {
      refuse_field("repetition_penalty", "is 0, expected more than 0");
    }
    sampling.repetition_penalty = *penalty;
  }
}

void read_seed(Fields& fields, SamplingOptions& sampling) {
  using Limits = std::numeric_limits<int64_t>;
  if (const auto seed = fields.integer("seed", Limits::min(), Limits::max())) {
    sampling.seed = static_cast<uint64_t>(*seed);
  }
}

void read_stop(Fields& fields, GenerationOptions& options) {
  const Json* given = fields.find("stop");
  if (given == nullptr || (given->is_array() && given->empty())) {
    return;
  }
  options.stop = *fields.texts("stop", kMaxStops);
  if (std::ranges::find(options.stop, "") != options.stop.end()) {
    refuse_field("stop", "has an empty text");
  }
}

Streaming read_streaming(Fields& fields) {
  Streaming streaming{.is_wanted = fields.flag("stream").value_or(false)};
  const Json* given = fields.find("stream_options");
  if (given != nullptr && !streaming.is_wanted) {
    refuse_field("stream_options", "needs \"stream\": true");
  }
  if (given != nullptr) {
    Fields options(*given, "stream_options.");
    if (options.flag("include_usage").value_or(false)) {
      streaming.last = Chunks::LastChunk::usage;
    }
    options.only("include_obfuscation", false, "the pieces of a stream are sent as they are");
    options.finish();
  }
  return streaming;
}

void accept_harmless(Fields& fields) {
  for (const char* const name : {"user", "safety_identifier", "prompt_cache_key"}) {
    fields.text(name);
  }
}

void accept_harmless_of_answers(Fields& fields) {
  if (const Json* metadata = fields.find("metadata"); metadata != nullptr && !metadata->is_object()) {
    refuse_field("metadata", "is not an object");
  }
  fields.only("store", false, "answers are not kept");
  fields.choice("service_tier", {"auto", "default"});
  fields.choice("prompt_cache_retention", {"in_memory"});
  refuse_fields(fields, {{"prompt_cache_options", "the server's cache has no options"}});
}

void refuse_fields(Fields& fields, std::initializer_list<RefusedField> refused) {
  for (const RefusedField& field : refused) {
    if (fields.has(field.name)) {
      refuse_field(fields.path_of(field.name), "is not supported: {}", field.why);
    }
  }
}

int64_t count_prompts(const TextRequest& request) {
  return naming_fields(request.field, [&] {
    int64_t tokens = 0;
    for (size_t i = 0; i < request.prompts.size(); ++i) {
      tokens += request.model.generator().count_tokens(request.prompts[i], request.options, prompt_name(request, i));
    }
    return tokens;
  });
}

std::vector<std::vector<ScoredToken>> score_prompts(const Call& call, const TextRequest& request) {
  GenerationOptions options = request.options;
  options.interruption = call.interruption();
  options.sharing = call.sharing();
  return naming_fields(request.field, [&] {
    return request.model.generator().score_prompts(request.prompts, options,
                                                   [&](size_t prompt) { return prompt_name(request, prompt); });
  });
}

int64_t room_after_prompt(const Call& call, const TextRequest& request) {
  const Generator& generator = request.model.generator();
  return naming_fields(request.field, [&] {
    const int64_t prompt = generator.count_tokens(request.prompts.front(), request.options, request.field);
    return std::min(generator.max_length() - prompt + 1, call.settings().max_tokens);
  });
}

Written write_texts(Call& call, const TextRequest& request, TextEvents* events) {
  const Generator& generator = request.model.generator();
  GenerationOptions options = request.options;
  options.interruption = call.interruption();
  options.sharing = call.sharing();
  Listener listener(call, request, events);
  const auto name = [&](size_t prompt) { return prompt_name(request, prompt); };
  Written written{.texts = {}, .usage = {.read = count_prompts(request)}};
  written.texts =
      naming_fields(request.field, [&] { return generator.generate(request.prompts, options, &listener, name); });
  for (const std::vector<Completion>& of_prompt : written.texts) {
    written.usage.cached += of_prompt.front().cached;
    for (const Completion& text : of_prompt) {
      written.usage.written += text.tokens;
    }
  }
  call.count(written.usage.read, written.usage.written);
  for (const std::vector<Completion>& of_prompt : written.texts) {
    std::ranges::for_each(of_prompt, [](const Completion& text) { finish_reason(text.reason); });
  }
  return written;
}

}  // namespace heed::serve::openai
