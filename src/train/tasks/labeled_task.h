// The tasks of labelling texts and words.
#pragma once

#include "train/corpus/labeled_examples.h"
#include "train/recipe/labeled_recipe.h"
#include "train/tasks/task.h"

namespace heed {

class LabeledTask final : public Task {
 public:
  // Reads the recipe's files. FormatError for a label of the validation text that the training text lacks.
  LabeledTask(const Recipe& recipe, const TaskSetup& setup);

  const Tokenizers& tokenizers() const override { return tokenizers_; }
  using Task::complete;
  void complete(ModelConfig& model) const override { model.labels = text_.labels; }
  TextColumns columns() const override { return data_.columns; }
  std::string describe_text() const override;
  std::vector<std::pair<std::string, int64_t>> sizes() const override;

  int64_t examples() const override { return std::ssize(text_.train); }
  Update next_update(int64_t number) override;
  const BatchPosition& position() const override { return batches_.position(); }
  void seek(const BatchPosition& position) override;

  std::string describe_origins(const Update& update) const override;
  std::string list_origins(const Update& update) const override;

  void store(FieldsToStore& fields) const override;

  bool can_validate() const override { return !text_.validation.empty(); }
  // As score_examples() says.
  Scores validate(const Inference& inference) const override;

 private:
  using Example = LabeledExample;

  struct Text {
    std::vector<std::string> labels;
    std::vector<Example> train, validation;
  };

  Text read_text() const;
  void check_types(const std::vector<Example>& examples) const;
  Text stored_text(const StoredFields& fields) const;
  std::unique_ptr<Shard> shard_of(const std::vector<const Example*>& examples, uint64_t first_row) const;
  const std::string& where(int64_t index) const { return text_.train[static_cast<size_t>(index)].where; }

  Head head_;
  int64_t token_types_, max_length_, batches_per_update_, shards_per_batch_;
  LabeledDataRecipe data_;
  std::vector<std::string> given_labels_;  // by the recipe, which may have none
  Tokenizers tokenizers_;
  Text text_;
  BatchStream batches_;
};

}  // namespace heed
