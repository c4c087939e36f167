// The text of a translation run, as tokens.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/batches/pair_batch.h"
#include "data/corpus/corpus.h"
#include "decode/texts/translation/translation_frame.h"
#include "text/translation_tokenizers.h"
#include "train/recipe/translation_recipe.h"

namespace heed {

// Loads the recipe's tokenizers, or trains them on its training files.
Tokenizers make_tokenizers(const TranslationRecipe& recipe);

SentenceMarks marks_of(const TranslationTokenizers& tokenizers);
// The marks of another program's model, between two of its languages.
SentenceMarks marks_of(const TranslationTokenizers& tokenizers, const TranslationFrame& frame);

// Reads the text, or takes the tokens that are stored already. Tokens that do not fit into memory go into unnamed files
// in the setup's folder.
Corpus read_training_corpus(const PairDataRecipe& data, const TranslationTokenizers& tokenizers,
                            const TaskSetup& setup);

// The lines of both sides. The recipe's rules for training text do not apply to them.
struct ValidationText {
  std::vector<std::string> source, target;
};
ValidationText read_validation_text(const PairDataRecipe& data);
// The same of a prepared corpus.
void store(FieldsToStore& fields, const ValidationText& text);
ValidationText stored_validation_text(const StoredFields& fields);

// How many validation pairs occur in the training text: both sides, or the source with any translation. Lines with
// words that the tokenizers do not know are not counted.
struct ValidationOverlap {
  int64_t pairs = 0, sources = 0;
};
void store(FieldsToStore& fields, const ValidationOverlap& overlap);
ValidationOverlap stored_overlap(const StoredFields& fields);
ValidationOverlap find_overlap(const Corpus& corpus, const ValidationText& validation,
                               const TranslationTokenizers& tokenizers);

}  // namespace heed
