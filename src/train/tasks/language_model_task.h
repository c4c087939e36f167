// The language modelling task.
#pragma once

#include "train/recipe/language_model_recipe.h"
#include "train/tasks/text_task.h"

namespace heed {

class LanguageModelTask final : public TextTask {
 public:
  // Reads the text of the recipe's files.
  LanguageModelTask(const Recipe& recipe, const TaskSetup& setup);

  std::optional<Documents> documents() const override { return data().documents; }
  std::string describe_text() const override;
  std::vector<std::pair<std::string, int64_t>> sizes() const override;
  Update next_update(int64_t number) override;
  void store(FieldsToStore& fields) const override;

  // The loss over the validation text, read in sequences as long as those in training; and samples, with the same draws
  // each time.
  Scores validate(const Inference& inference) const override;

 private:
  // How many passages of the validation text, of those long enough to tell something, are in the training text too.
  struct Shared {
    int64_t found = 0, all = 0;
  };
  // A stream has no documents; in documents of a line each, the lines are not counted again.
  struct Overlap {
    Shared documents, lines;
  };

  TextRows rows_of(const TextCorpus& text) const { return {text, data().borders}; }
  TextRows origins() const override { return rows_of(train()); }
  Overlap find_overlap() const;
  static Overlap stored_overlap(const StoredFields& fields);
  std::string describe_overlap() const;
  std::vector<Sample> write_samples(const Inference& inference) const;
  std::vector<double> ahead_weights(int64_t number) const;

  AheadRecipe ahead_;
  SampleRecipe samples_;
  Overlap overlap_;
};

}  // namespace heed
