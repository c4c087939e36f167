// What the answers of OpenAI's interface have in common.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heed/types/writing/generation.h"
#include "serve/call.h"

namespace heed::serve::openai {

struct Usage {
  int64_t read = 0, written = 0;  // tokens: of the prompts, each counted once, and of all texts
  int64_t cached = 0;             // of the prompts, that had been read before
};
Json usage_json(const Usage& usage);

// "stop" or "length". RequestError 504 for a text that ended because the request took too long.
std::string_view finish_reason(FinishReason reason);

std::string new_id(std::string_view prefix);

// What every object of an answer begins with. The objects of a stream share all of it.
struct Heading {
  std::string id;
  std::string_view object;
  std::string model;
  int64_t created;

  Json json() const;
};
Heading heading(std::string_view prefix, std::string_view object, const ServedModel& model);

// A stream of objects that have one choice each, then perhaps one with the usage, and an end.
class Chunks {
 public:
  enum class LastChunk : uint8_t { choice, usage };
  Chunks(Call& call, const Heading& heading, LastChunk last) : call_(call), heading_(heading.json()), last_(last) {}

  void send(Json choice);
  void end(const Usage& usage);

 private:
  Call& call_;
  const Json heading_;
  const LastChunk last_;
};

}  // namespace heed::serve::openai
