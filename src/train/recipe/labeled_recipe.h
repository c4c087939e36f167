// The recipes of what labels texts (classify) and words (tag).
#pragma once

#include "data/corpus/labeled_text.h"
#include "heed/types/tokenizer.h"
#include "train/recipe/text_recipe.h"

namespace heed {

struct LabeledDataRecipe {
  std::vector<std::string> train, validation;
  TextColumns columns = TextColumns::one;   // of classify
  WordFormat format = WordFormat::columns;  // of tag
  TooLong too_long = TooLong::truncate;     // of classify
  int64_t batch_sequences = 32;
};

// What both have.
class LabeledRecipe : public TaskRecipe {
 public:
  LabeledDataRecipe data;
  TextTokenizerRecipe tokenizer;

  std::string_view validation_key() const override { return "data.validation"; }
  bool has_validation_text() const override { return !data.validation.empty(); }
  std::vector<RecipeFile> files() const override { return text_files(data.train, data.validation, tokenizer.file); }
  BatchSize batch_size(int64_t length) const override;
  std::vector<int64_t> vocabulary_sizes() const override;
  std::unique_ptr<Task> make_task(const Recipe& recipe, const TaskSetup& setup) const override;

  // The texts that a tokenizer learns from, and the tokenizer: loaded, or learned from them.
  virtual std::vector<std::string> training_texts() const = 0;
  Tokenizers make_tokenizers() const;
};

class ClassifyRecipe final : public LabeledRecipe {
 public:
  std::unique_ptr<TaskRecipe> clone() const override { return std::make_unique<ClassifyRecipe>(*this); }
  void set_defaults(Recipe& recipe) const override;
  std::vector<SettingTable> settings() override;
  void validate(const Recipe& recipe) const override;
  std::vector<std::string> training_texts() const override;
};

class TagRecipe final : public LabeledRecipe {
 public:
  std::unique_ptr<TaskRecipe> clone() const override { return std::make_unique<TagRecipe>(*this); }
  void set_defaults(Recipe& recipe) const override;
  std::vector<SettingTable> settings() override;
  void validate(const Recipe& recipe) const override;
  std::vector<std::string> training_texts() const override;
};

}  // namespace heed
