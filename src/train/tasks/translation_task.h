// Learning to translate from pairs of lines.
#pragma once

#include <optional>

#include "data/corpus/corpus.h"
#include "train/corpus/subword_sampling.h"
#include "train/corpus/translation_data.h"
#include "train/recipe/translation_recipe.h"
#include "train/tasks/task.h"

namespace heed {

class TranslationTask final : public Task {
 public:
  // Reads the text of the recipe's files.
  TranslationTask(const Recipe& recipe, const TaskSetup& setup);

  const Tokenizers& tokenizers() const override { return tokenizers_; }
  std::string describe_text() const override;
  std::vector<std::pair<std::string, int64_t>> sizes() const override;

  int64_t examples() const override { return corpus_.size(); }
  Update next_update(int64_t number) override;
  const BatchPosition& position() const override { return batches_.position(); }
  void seek(const BatchPosition& position) override;

  std::string describe_origins(const Update& update) const override;
  std::string list_origins(const Update& update) const override;

  void store(FieldsToStore& fields) const override;

  bool can_validate() const override { return !validation_.source.empty(); }
  Scores validate(const Inference& inference) const override;

 private:
  TranslationRecipe recipe_;
  int64_t batches_per_update_, shards_per_batch_;
  Tokenizers tokenizers_;
  TranslationTokenizers pair_;
  ModelMarks model_marks_;
  SentenceMarks marks_;
  SubwordSampling subwords_;
  Corpus corpus_;
  ValidationText validation_;
  ValidationOverlap overlap_;
  BatchStream batches_;
};

}  // namespace heed
