// Writing text behind prompts.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "decode/lanes.h"
#include "decode/stepper.h"
#include "heed/generation.h"
#include "text/documents.h"
#include "text/tokenizer.h"

namespace heed {

// A language model with its text, and the workers that run it.
struct TextGenerator {
  const AnyModel& model;
  DType storage;
  const Tokenizer& tokenizer;
  Documents documents;  // that the model was trained on: each text begins with a mark then
  Lanes& lanes;
};

// The mark: bos, or eos of a tokenizer that has no bos.
TokenId beginning_of_document(const Tokenizer& tokenizer);

// Throws ConfigError with what a person can act on.
void validate(const GenerationOptions& options);

// For each prompt its texts; with beam search the best first. An empty prompt of a model that knows no marks stands
// for a text behind a line break, where the tokenizer has one. `where(i)` names prompt i in messages.
// FormatError for one that is not text or too long, ConfigError for options that make no sense, before anything is
// written.
std::vector<std::vector<Completion>> generate_texts(const TextGenerator& generator,
                                                    std::span<const std::string> prompts,
                                                    const GenerationOptions& options,
                                                    const std::function<std::string(size_t)>& where,
                                                    GenerationListener* listener = nullptr);

}  // namespace heed
