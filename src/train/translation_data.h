// The text of a translation run, as tokens.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/model_directory.h"
#include "data/corpus.h"
#include "data/pair_batch.h"
#include "train/recipe.h"

namespace heed {

struct TokenizerPair {
  std::shared_ptr<const Tokenizer> source, target;  // one and the same where they are shared
};

// Loads the recipe's tokenizers, or trains them on its training files.
TokenizerPair make_tokenizers(const Recipe& recipe);
TokenizerPair load_tokenizers(const ModelFolder& folder, const ModelDescription& description);

SentenceMarks marks_of(const TokenizerPair& tokenizers);

Corpus read_training_corpus(const Recipe& recipe, const TokenizerPair& tokenizers, int threads);

// Lines of both sides, unfiltered, as they are scored against.
struct ValidationText {
  std::vector<std::string> source, target;
};
ValidationText read_validation_text(const Recipe& recipe);

}  // namespace heed
