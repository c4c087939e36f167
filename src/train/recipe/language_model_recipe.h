// The recipe of a language model: its text, its tokenizer and its validation.
#pragma once

#include "train/recipe/text_recipe.h"

namespace heed {

// Texts that the model writes at each validation, to be read by people.
struct SampleRecipe {
  std::vector<std::string> prompts;  // to continue; none: it writes one text from scratch
  int64_t tokens = 200;              // of each text; 0: no samples
  double temperature = 0.8;
};

// Losses of the tokens after the next, beside it, which only the gradients notice.
struct AheadRecipe {
  std::vector<double> weights;  // of the token after the next, of the one after that, ...
  int64_t updates = 0;          // over which the weights go down to 0 in a line; 0: they stay
};

class LanguageModelRecipe final : public TextRecipe {
 public:
  AheadRecipe ahead;
  SampleRecipe samples;

  std::unique_ptr<TaskRecipe> clone() const override { return std::make_unique<LanguageModelRecipe>(*this); }
  std::vector<SettingTable> settings() override;
  void validate(const Recipe& recipe) const override;
  std::unique_ptr<Task> make_task(const Recipe& recipe, const TaskSetup& setup) const override;
};

}  // namespace heed
