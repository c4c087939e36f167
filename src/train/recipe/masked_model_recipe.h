// The recipe of a masked language model: its text, what is masked, its tokenizer and its validation.
#pragma once

#include "data/batches/masked_text.h"
#include "train/recipe/text_recipe.h"

namespace heed {

class MaskedModelRecipe final : public TextRecipe {
 public:
  MaskingRules masking;
  std::string mask = "<mask>";  // the text of the mask token
  int64_t samples = 3;          // texts whose predictions are shown at each validation

  std::unique_ptr<TaskRecipe> clone() const override { return std::make_unique<MaskedModelRecipe>(*this); }
  std::vector<SettingTable> settings() override;
  void validate(const Recipe& recipe) const override;
  // One that is learned has the mask token among its user symbols.
  Tokenizers make_tokenizers(const TextRules& text) const override;
  void require_tokens(const Tokenizer& of_run) const override { (void)mask_in(of_run); }
  // ConfigError when the tokenizer has no mask token.
  TokenId mask_in(const Tokenizer& of_run) const;
  std::unique_ptr<Task> make_task(const Recipe& recipe, const TaskSetup& setup) const override;
};

}  // namespace heed
