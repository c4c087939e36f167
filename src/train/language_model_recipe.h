// The recipe of a language model: its text, its tokenizer and its validation.
#pragma once

#include "train/recipe.h"
#include "train/text_recipe.h"

namespace heed {

// Texts that the model writes at each validation, to be read by people.
struct SampleRecipe {
  std::vector<std::string> prompts;  // to continue; none: it writes one text from scratch
  int64_t tokens = 200;              // of each text; 0: no samples
  double temperature = 0.8;
};

class LanguageModelRecipe final : public TaskRecipe {
 public:
  TextDataRecipe data;
  TextTokenizerRecipe tokenizer;
  SampleRecipe samples;

  std::unique_ptr<TaskRecipe> clone() const override { return std::make_unique<LanguageModelRecipe>(*this); }
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

}  // namespace heed
