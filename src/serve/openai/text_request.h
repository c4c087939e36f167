// Texts that a language model writes for OpenAI's interface: the fields that its paths share, and writing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heed/types/writing/generation.h"
#include "serve/call.h"
#include "serve/openai/answers.h"

namespace heed::serve::openai {

struct Streaming {
  bool is_wanted = false;
  Chunks::LastChunk last = Chunks::LastChunk::choice;
};

struct TextRequest {
  const ServedModel& model;
  GenerationOptions options;
  std::vector<std::string> prompts;
  std::string field;  // where the prompts come from, for errors
  Streaming streaming = {};

  // Texts are numbered through: those of the first prompt, then those of the second one.
  size_t number(const GenerationListener::Text& text) const {
    return text.prompt * static_cast<size_t>(options.samples) + static_cast<size_t>(text.sample);
  }
};

// The model's own options with a random seed, and without beam search, which does not sample.
GenerationOptions sampling_defaults(const Generator& generator);
// temperature, top_p, presence_penalty, frequency_penalty, and heed's own top_k, min_p and repetition_penalty.
void read_sampling(Fields& fields, SamplingOptions& sampling);
void read_seed(Fields& fields, SamplingOptions& sampling);
void read_stop(Fields& fields, GenerationOptions& options);
// stream and stream_options.
Streaming read_streaming(Fields& fields);
// Fields that name the user or a cache, or that ask for what is done anyway.
void accept_harmless(Fields& fields);
// Fields of chat and responses.
void accept_harmless_of_answers(Fields& fields);
// 400 for a field that is there, with the reason.
struct RefusedField {
  const char* name;
  std::string_view why;
};
void refuse_fields(Fields& fields, std::initializer_list<RefusedField> refused);
// The most tokens of a text for which the request names no number: as many as the model takes after the prompt.
int64_t room_after_prompt(const Call& call, const TextRequest& request);

// Throws the library's message, which says which of its options or which text it means, as a 400 with a field's name.
[[noreturn]] void refuse_as_field(const std::string& message, const std::string& field);

// Does the work, whose texts come from the field.
template <class Work>
auto naming_fields(const std::string& field, const Work& work) {
  try {
    return work();
  } catch (const ConfigError& error) {
    refuse_as_field(error.what(), field);
  } catch (const FormatError& error) {
    refuse_as_field(error.what(), field);
  }
}

// The tokens of all prompts.
int64_t count_prompts(const TextRequest& request);
// How likely the model finds each token of each prompt, with as many others as the options list.
std::vector<std::vector<ScoredToken>> score_prompts(const Call& call, const TextRequest& request);

// What a path does with the texts while they are written. It is called by one thread at a time, which may be the
// model's: it returns soon.
class TextEvents {
 public:
  virtual ~TextEvents() = default;
  virtual void begin() {}                                               // before all others
  virtual void token(size_t /*text*/, const ScoredToken& /*token*/) {}  // before the piece that its text is in
  virtual void piece(size_t /*text*/, std::string_view /*piece*/) {}
  virtual void end(size_t /*text*/, const Completion& /*completion*/) {}
};

struct Written {
  std::vector<std::vector<Completion>> texts;  // of each prompt
  Usage usage;
};

// RequestError for what the model can't do, which names the field, and when the request's time is over. Events may be
// null.
Written write_texts(Call& call, const TextRequest& request, TextEvents* events);

}  // namespace heed::serve::openai
