#include "heed/generator.h"

#include <algorithm>
#include <memory>

#include "attention.h"
#include "heed/chat.h"
#include "model_options.h"
#include "texts.h"

struct heed_generator {
  heed::Generator model;
};

struct heed_chat {
  heed::ChatFormat format;
};

namespace heed::c {
namespace {

constexpr std::array<NamedValue<PromptMarks>, 2> kPromptMarksNames{
    {{"added", PromptMarks::added}, {"spelled", PromptMarks::spelled}}};

void read_prompt_options(OptionReader& options, GenerationOptions& generation) {
  options.named(HEED_TOO_LONG, generation.too_long, kTooLongChoices);
  options.named(HEED_MARKS, generation.marks, kPromptMarksNames);
}

GenerationOptions generation_options(const Generator& model, OptionReader& options) {
  GenerationOptions found = model.with_defaults();
  SamplingOptions& sampling = found.sampling;
  options.real(HEED_TEMPERATURE, sampling.temperature);
  options.integer(HEED_TOP_K, sampling.top_k);
  options.real(HEED_TOP_P, sampling.top_p);
  options.real(HEED_MIN_P, sampling.min_p);
  options.real(HEED_REPETITION_PENALTY, sampling.repetition_penalty);
  options.real(HEED_PRESENCE_PENALTY, sampling.presence_penalty);
  options.real(HEED_FREQUENCY_PENALTY, sampling.frequency_penalty);
  options.integer(HEED_SEED, sampling.seed);
  options.integer(HEED_BEAM, found.beam);
  options.integer(HEED_SAMPLES, found.samples);
  options.integer(HEED_MAX_TOKENS, found.max_tokens);
  read_rules(options, found.rules);
  options.texts(HEED_FORCE, found.force);
  options.choice(HEED_LIST_TOKENS, found.each, EachToken::left_out, EachToken::listed);
  options.integer(HEED_LIKELIEST, found.likeliest);
  options.texts(HEED_STOP_TEXT, found.stop);
  options.text(HEED_REGEX, found.regex);
  options.texts(HEED_CHOICE, found.choices);
  read_prompt_options(options, found);
  options.interruption(found.interruption);
  options.sharing(found.sharing);
  return found;
}

class Completions : public GenerationListener {
 public:
  explicit Completions(const heed_options& options) : callbacks(options) {}
  void on_token(const Text& text, const ScoredToken& token) override {
    callbacks.token(text.prompt, static_cast<size_t>(text.sample), token);
  }
  void on_piece(const Text& text, std::string_view piece) override {
    callbacks.piece(text.prompt, static_cast<size_t>(text.sample), piece);
  }
  void on_completion(const Text& text, const Completion& completion) override {
    callbacks.text(text.prompt, static_cast<size_t>(text.sample), completion.text);
  }

  Callbacks callbacks;
};

heed_texts::Sample sample_of_completion(const Completion& completion) {
  return {.text = completion.text,
          .score = completion.log_probability,
          .log_probability = completion.log_probability,
          .tokens = completion.tokens,
          .reason = std::string(name_of(completion.reason)),
          .each = tokens_of(completion.each)};
}

std::unique_ptr<heed_texts> completions_of(const std::vector<std::vector<Completion>>& prompts) {
  auto found = std::make_unique<heed_texts>();
  found->inputs.resize(prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    std::ranges::transform(prompts[i], std::back_inserter(found->inputs[i]), sample_of_completion);
  }
  return found;
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_error* heed_generator_open(const char* directory, const heed_options* options, heed_generator** generator) {
  return guarded([&] {
    require_given(directory, "directory");
    require_given(static_cast<const void*>(generator), "generator");
    OptionReader reader(options);
    heed::InferenceOptions inference = inference_options(reader);
    add_writing_options(reader, inference);
    reader.integer(HEED_PREFIX_BYTES, inference.prefix_bytes);
    const heed::DraftOptions drafts = draft_options(reader);
    reader.finish();
    *generator =
        std::make_unique<heed_generator>(heed_generator{heed::Generator(directory, inference, drafts)}).release();
  });
}

void heed_generator_free(heed_generator* generator) { delete generator; }

heed_error* heed_generator_max_length(const heed_generator* generator, int64_t* tokens) {
  return guarded([&] { put(given(generator, "generator").model.max_length(), tokens, "tokens"); });
}

heed_error* heed_generator_threads(const heed_generator* generator, int* threads) {
  return guarded([&] { put(given(generator, "generator").model.threads(), threads, "threads"); });
}

heed_error* heed_generator_generate(const heed_generator* generator, const char* const* prompts, const size_t* lengths,
                                    size_t count, const heed_options* options, heed_texts** completions) {
  return guarded([&] {
    const heed::Generator& model = given(generator, "generator").model;
    require_given(static_cast<const void*>(completions), "completions");
    OptionReader reader(options);
    heed::GenerationOptions found = generation_options(model, reader);
    Completions listener(reader.callbacks());
    reader.finish();
    found.interruption.stop = listener.callbacks.stop();
    const std::vector<std::string> texts = texts_of(prompts, lengths, count, "prompts");
    *completions = completions_of(model.generate(texts, found, &listener)).release();
  });
}

heed_error* heed_generator_count_tokens(const heed_generator* generator, const char* prompt, size_t length,
                                        const heed_options* options, int64_t* count) {
  return guarded([&] {
    const heed::Generator& model = given(generator, "generator").model;
    OptionReader reader(options);
    heed::GenerationOptions found;
    read_prompt_options(reader, found);
    reader.finish();
    put(model.count_tokens(std::string(text_of(prompt, length, "prompt")), found), count, "count");
  });
}

heed_error* heed_generator_attention(const heed_generator* generator, const char* prompt, size_t length,
                                     const heed_options* options, heed_attention** attention) {
  return guarded([&] {
    const heed::Generator& model = given(generator, "generator").model;
    require_given(static_cast<const void*>(attention), "attention");
    OptionReader reader(options);
    const heed::AttentionRequest request = attention_request(reader, heed::AttentionKind::decoder);
    heed::GenerationOptions found;
    read_prompt_options(reader, found);
    reader.finish();
    const std::string text(text_of(prompt, length, "prompt"));
    *attention = std::make_unique<heed_attention>(heed_attention{model.attention(text, request, found)}).release();
  });
}

heed_error* heed_generator_perplexity(const heed_generator* generator, const char* text, size_t length,
                                      double* nats_per_token, int64_t* tokens) {
  return guarded([&] {
    const heed::Generator& model = given(generator, "generator").model;
    require_given(nats_per_token, "nats_per_token");
    const heed::Perplexity found = model.perplexity(std::string(text_of(text, length, "text")));
    *nats_per_token = found.nats_per_token;
    if (tokens != nullptr) {
      *tokens = found.tokens;
    }
  });
}

heed_error* heed_chat_open(const char* directory, heed_chat** chat) {
  return guarded([&] {
    require_given(directory, "directory");
    require_given(static_cast<const void*>(chat), "chat");
    *chat = std::make_unique<heed_chat>(heed_chat{heed::ChatFormat(directory)}).release();
  });
}

void heed_chat_free(heed_chat* chat) { delete chat; }

heed_error* heed_chat_prompt(const heed_chat* chat, const char* json, size_t json_length, char** prompt,
                             size_t* length) {
  return guarded([&] {
    const heed::ChatFormat& format = given(chat, "chat").format;
    put_string(format.prompt(text_of(json, json_length, "json"), "json"), prompt, length);
  });
}
