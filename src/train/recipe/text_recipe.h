// What the recipes of tasks over running text share: [data] and [tokenizer].
#pragma once

#include <optional>

#include "checkpoint/model_directory.h"
#include "data/batches/text_batches.h"
#include "train/recipe/recipe.h"
#include "train/recipe/tokenizer_recipe.h"

namespace heed {

// Sizes that batches have at first, in lists of one length: each size until the update that stands at its place.
struct GrowthRecipe {
  std::vector<int64_t> updates, sequences, contexts;

  bool operator==(const GrowthRecipe&) const = default;
};

struct TextDataRecipe {
  std::vector<std::string> train, validation;
  GrowthRecipe growth;            // of a language model's batches
  std::vector<double> weights;    // of the training files, in a language model's sequences; none: each once an epoch
  double validation_share = 0.0;  // of the training text, at its end
  Documents documents = Documents::none;
  DocumentBorders borders = DocumentBorders::kept;
  TextColumns columns = TextColumns::one;  // pair: of a masked language model, each line is two texts
  TextBatchRules batches{.context = 256, .sequences = 32};
  int64_t memory_megabytes = 1024;  // of tokens, before they move to disk

  TextBatchRules batch_rules() const;  // with the growth, whose lists must have one length
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

// The training text, and the validation text if there is one. When that is a share of the training text, all of the
// text is read once, to find where to split it.
struct TextSplit {
  TextRules train;
  std::optional<TextRules> validation;
};
TextSplit text_split(const TextDataRecipe& data);
// The same for a prepared corpus, without the ranges, which only reading needs.
TextSplit stored_text_split(const TextDataRecipe& data);

// Loads the recipe's tokenizer, or learns it from the text.
Tokenizers make_text_tokenizers(const TextTokenizerRecipe& recipe, const TextRules& text);

class TextRecipe : public TaskRecipe {
 public:
  TextDataRecipe data;
  TextTokenizerRecipe tokenizer;

  void set_defaults(Recipe& recipe) const override { recipe.training.smoothing = 0.0; }
  std::string_view validation_key() const override { return "data.validation"; }
  bool has_validation_text() const override { return !data.validation.empty() || data.validation_share > 0.0; }
  std::vector<RecipeFile> files() const override { return text_files(data.train, data.validation, tokenizer.file); }
  BatchSize batch_size(int64_t length) const override;
  std::vector<int64_t> vocabulary_sizes() const override;

  // Loads the tokenizer, or learns it from the text.
  virtual Tokenizers make_tokenizers(const TextRules& text) const { return make_text_tokenizers(tokenizer, text); }
  // ConfigError for a tokenizer that lacks a token which the task needs.
  virtual void require_tokens(const Tokenizer&) const {}
};

}  // namespace heed
