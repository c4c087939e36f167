#include "serve/openai/answers.h"

#include <array>
#include <ctime>
#include <random>

#include "heed/version.h"
#include "serve/request_error.h"

namespace heed::serve::openai {

Json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.read},
          {"completion_tokens", usage.written},
          {"total_tokens", usage.read + usage.written},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached}}}};
}

std::string_view finish_reason(FinishReason reason) {
  switch (reason) {
    case FinishReason::end:
    case FinishReason::stop:
      return "stop";
    case FinishReason::length:
      return "length";
    default:
      throw RequestError(504, "", "the request took too long: ask for fewer tokens");
  }
}

std::string new_id(std::string_view prefix) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr int kLength = 32, kDigitsOfDraw = 8;
  std::random_device device;
  std::string id(prefix);
  for (int i = 0; i < kLength / kDigitsOfDraw; ++i) {
    uint32_t draw = device();
    for (int digit = 0; digit < kDigitsOfDraw; ++digit, draw >>= 4) {
      id += kDigits[draw & 15U];
    }
  }
  return id;
}

Json Heading::json() const {
  return {{"id", id},
          {"object", object},
          {"created", created},
          {"model", model},
          {"system_fingerprint", fmt::format("heed-{}", version())}};
}

Heading heading(std::string_view prefix, std::string_view object, const ServedModel& model) {
  return {.id = new_id(prefix), .object = object, .model = model.name(), .created = std::time(nullptr)};
}

void Chunks::send(Json choice) {
  Json chunk = heading_;
  chunk["choices"] = Json::array({std::move(choice)});
  if (last_ == LastChunk::usage) {
    chunk["usage"] = nullptr;
  }
  call_.send_event(to_text(chunk));
}

void Chunks::end(const Usage& usage) {
  if (last_ == LastChunk::usage) {
    Json last = heading_;
    last["choices"] = Json::array();
    last["usage"] = usage_json(usage);
    call_.send_event(to_text(last));
  }
  call_.end_events("[DONE]");
}

}  // namespace heed::serve::openai
