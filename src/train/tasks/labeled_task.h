// The tasks of labelling texts and words.
#pragma once

#include <optional>

#include "train/corpus/labeled_examples.h"
#include "train/recipe/labeled_recipe.h"
#include "train/tasks/task.h"

namespace heed {

class LabeledTask final : public Task {
 public:
  // Reads the recipe's files. FormatError for a label of the validation text that the training text lacks.
  LabeledTask(const Recipe& recipe, const TaskSetup& setup);

  const Tokenizers& tokenizers() const override { return tokenizers_; }
  void complete(ModelConfig& model) const override { model.labels = labels_; }
  TextColumns columns() const override { return recipe_->data.columns; }
  std::string describe_text() const override;
  std::vector<std::pair<std::string, int64_t>> sizes() const override;

  int64_t examples() const override { return static_cast<int64_t>(train_.size()); }
  Update next_update(int64_t number) override;
  const BatchPosition& position() const override { return batches_->position(); }
  void seek(const BatchPosition& position) override;

  std::string describe_origins(const Update& update) const override;
  std::string list_origins(const Update& update) const override;

  void store(FieldsToStore& fields) const override;

  bool can_validate() const override { return !validation_.empty(); }
  // As score_examples() says.
  Scores validate(const Inference& inference) const override;

 private:
  using Example = LabeledExample;

  void read_text();
  void take_stored(const StoredFields& fields);
  std::unique_ptr<Shard> shard_of(const std::vector<const Example*>& examples, uint64_t first_row) const;
  const std::string& where(int64_t index) const { return train_[static_cast<size_t>(index)].where; }

  Head head_;
  int64_t token_types_, max_length_, batches_per_update_, shards_per_batch_;
  const LabeledRecipe* recipe_;  // the clone below
  std::unique_ptr<TaskRecipe> own_recipe_;
  Tokenizers tokenizers_;
  std::vector<std::string> labels_, given_labels_;  // all; and what the recipe says of them
  std::vector<Example> train_, validation_;
  std::optional<BatchStream> batches_;
};

}  // namespace heed
