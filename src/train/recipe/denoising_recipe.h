// The recipe of an encoder-decoder that learns to restore text.
#pragma once

#include "data/batches/noised_text.h"
#include "train/recipe/text_recipe.h"

namespace heed {

class DenoisingRecipe final : public TextRecipe {
 public:
  NoiseRules noise;
  int64_t sentinels = 100;      // "<extra_id_0>", "<extra_id_1>" ...
  std::string mask = "<mask>";  // the text of the mask token

  std::unique_ptr<TaskRecipe> clone() const override { return std::make_unique<DenoisingRecipe>(*this); }
  std::vector<SettingTable> settings() override;
  void validate(const Recipe& recipe) const override;
  std::vector<int64_t> vocabulary_sizes() const override;
  // The same one for both roles. One that is learned has the marks among its user symbols.
  Tokenizers make_tokenizers(const TextRules& text) const override;
  void require_tokens(const Tokenizer& of_run) const override { (void)marks_in(of_run); }
  // The tokens that stand for what is hidden. ConfigError when the tokenizer lacks one.
  std::vector<int32_t> marks_in(const Tokenizer& of_run) const;
  std::unique_ptr<Task> make_task(const Recipe& recipe, const TaskSetup& setup) const override;

 private:
  std::vector<std::string> marks() const;
};

}  // namespace heed
