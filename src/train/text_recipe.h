// The parts of a recipe that all tasks over running text share: [data] and [tokenizer].
#pragma once

#include <optional>

#include "checkpoint/model_directory.h"
#include "data/text_batches.h"
#include "train/recipe.h"
#include "train/tokenizer_recipe.h"

namespace heed {

struct TextDataRecipe {
  std::vector<std::string> train, validation;
  double validation_share = 0.0;  // of the training text, at its end
  Documents documents = Documents::none;
  DocumentBorders borders = DocumentBorders::kept;
  TextBatchRules batches{.context = 256, .sequences = 32};
  int64_t memory_megabytes = 1024;  // of tokens, before they move to disk
};

struct TextTokenizerRecipe {
  TokenizerTraining learned{.vocabulary = 8000, .normalization = {.form = NormalForm::none}, .user_symbols = {}};
  std::string file;  // of an existing tokenizer
};

SettingTable text_data_settings(TextDataRecipe& data);
SettingTable text_tokenizer_settings(TextTokenizerRecipe& tokenizer);

std::vector<RecipeFile> text_files(const std::vector<std::string>& train, const std::vector<std::string>& validation,
                                   const std::string& tokenizer);

// Both throw ConfigError, with a message that a user can act on.
void check_text_data(const TextDataRecipe& data, const Recipe& recipe);
void check_text_tokenizer(const TextTokenizerRecipe& tokenizer, const TextDataRecipe& data);

BatchSize text_batch_size(const TextBatchRules& rules, int64_t length);

// The training text, and the validation text if there is one. When that is a share of the training text, all of the
// text is read once, to find where to split it.
struct TextParts {
  TextRules train;
  std::optional<TextRules> validation;
};
TextParts text_parts(const TextDataRecipe& data);
// The same for a prepared corpus, without the ranges, which only reading needs.
TextParts stored_text_parts(const TextDataRecipe& data);

// Reads texts, or takes the tokens that are stored already under a name.
class TextCorpora {
 public:
  TextCorpora(const TextDataRecipe& data, const Tokenizer& tokenizer, const TaskSetup& setup)
      : data_(data), tokenizer_(tokenizer), setup_(setup) {}
  TextCorpus read(const TextRules& rules, const std::string& name) const;

 private:
  const TextDataRecipe& data_;
  const Tokenizer& tokenizer_;
  const TaskSetup& setup_;
};

// "300 tokens in 5 documents of 1200 bytes", for messages.
std::string describe_size(const TextCorpus& text, Documents documents);

// Loads the recipe's tokenizer, or learns it from the text.
Tokenizers make_text_tokenizers(const TextTokenizerRecipe& recipe, const TextRules& text);

}  // namespace heed
