// Generating texts that continue prompts.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decode/rules/automaton_cache.h"
#include "decode/scheduling/scheduler.h"
#include "heed/types/writing/generation.h"
#include "text/lines/documents.h"
#include "text/tokenizer.h"

namespace heed {

// A language model with its tokenizer. Any number of threads may use it at once.
struct TextGenerator {
  Scheduler& scheduler;
  const Tokenizer& tokenizer;
  // What the model was trained on, if known. A text of documents begins with a mark and may end with eos; a text of one
  // stream (Documents::none) has neither.
  std::optional<Documents> documents;
  std::vector<int32_t> ends = {};                    // tokens that end a text, beside the tokenizer's eos
  AutomatonCache* automata = nullptr;                // of the tokenizer, for all calls; null: each call makes its own
  std::vector<int32_t> suppressed = {};              // tokens that are never written
  std::vector<std::vector<int32_t>> bad_words = {};  // runs of several that are never written
};

// Throws ConfigError, with a message that a user can act on.
void validate(const GenerationOptions& options);

// The tokens that the model reads for a prompt, and how many of them were put before those of its text. Throws for the
// same prompts as generate_texts().
struct PromptTokens {
  std::vector<TokenId> tokens;
  int64_t added = 0;
};
PromptTokens prompt_tokens(const TextGenerator& generator, const std::string& prompt, const GenerationOptions& options,
                           const std::string& where);
int64_t count_prompt_tokens(const TextGenerator& generator, const std::string& prompt, const GenerationOptions& options,
                            const std::string& where);

// The texts for each prompt; with beam search the best first. When the options' interruption comes first, sampled texts
// end where they are, and beam search throws InterruptedError. For a model without marks, an empty prompt stands for a
// line break, if the tokenizer has one. `where(i)` names prompt i in messages. Before anything is generated:
// FormatError for a prompt that is not text or is too long, ConfigError for options that make no sense.
std::vector<std::vector<Completion>> generate_texts(const TextGenerator& generator,
                                                    std::span<const std::string> prompts,
                                                    const GenerationOptions& options,
                                                    const std::function<std::string(size_t)>& where,
                                                    GenerationListener* listener = nullptr);

// The tokens that the model reads for a prompt, a mark before it included. Throws as generate_texts() does.
std::vector<int32_t> prompt_ids(const TextGenerator& generator, const std::string& prompt,
                                const GenerationOptions& options, const std::string& where);

}  // namespace heed
