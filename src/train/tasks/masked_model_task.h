// The task of masked language modelling.
#pragma once

#include <optional>

#include "train/recipe/masked_model_recipe.h"
#include "train/tasks/text_task.h"

namespace heed {

class MaskedModelTask final : public TextTask {
 public:
  // Reads the text of the recipe's files.
  MaskedModelTask(const Recipe& recipe, const TaskSetup& setup);

  TextColumns columns() const override { return data().columns; }

  // Which tokens are masked is drawn anew for each update.
  Update next_update(int64_t number) override;

  // The loss over the validation text, masked in the same way each time, and the share of tokens that are predicted.
  Scores validate(const Inference& inference) const override;

 private:
  MarkedText marked(const TextCorpus& text) const { return {text, data().borders}; }
  TextRows origins() const override { return {train(), DocumentBorders::crossed}; }
  // With types where the model has them and a text is a pair.
  TokenBatch batch_of(const MarkedText& text, const ShardRows& rows, RandomKey key) const;
  std::vector<TokenBatch> masked_validation() const;
  Sample sample_of(const TokenBatch& text, int64_t segment, std::span<const int32_t> predicted) const;

  int64_t samples_, token_types_;
  RandomKey key_;
  Masking masking_;
};

}  // namespace heed
