// The recipe of a masked language model: its text, what is masked, its tokenizer and its validation.
#pragma once

#include "data/masked_text.h"
#include "train/text_recipe.h"

namespace heed {

class MaskedModelRecipe final : public TaskRecipe {
 public:
  TextDataRecipe data;
  MaskingRules masking;
  TextTokenizerRecipe tokenizer;
  std::string mask = "<mask>";  // the text of the mask token
  int64_t samples = 3;          // texts whose predictions are shown at each validation

  std::unique_ptr<TaskRecipe> clone() const override { return std::make_unique<MaskedModelRecipe>(*this); }
  void set_defaults(Recipe& recipe) const override { recipe.training.smoothing = 0.0; }
  std::vector<SettingTable> settings() override;
  void validate(const Recipe& recipe) const override;
  std::string_view validation_key() const override { return "data.validation"; }
  bool has_validation_text() const override { return !data.validation.empty() || data.validation_share > 0.0; }
  std::vector<RecipeFile> files() const override { return text_files(data.train, data.validation, tokenizer.file); }
  BatchSize batch_size(int64_t length) const override;
  std::vector<int64_t> vocabulary_sizes() const override;
  std::unique_ptr<Task> make_task(const Recipe& recipe, const TaskSetup& setup) const override;
};

// Loads the recipe's tokenizer, or learns it from the text; one that is learned has the mask token among its user
// symbols.
Tokenizers make_masked_tokenizers(const MaskedModelRecipe& recipe, const TextRules& text);

}  // namespace heed
