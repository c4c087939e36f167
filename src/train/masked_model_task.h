// The task of masked language modelling.
#pragma once

#include <optional>

#include "train/masked_model_recipe.h"
#include "train/task.h"

namespace heed {

class MaskedModelTask final : public Task {
 public:
  // Reads the text of the recipe's files.
  MaskedModelTask(const Recipe& recipe, const TaskSetup& setup);

  const Tokenizers& tokenizers() const override { return tokenizers_; }
  std::string describe_text() const override;
  std::vector<std::pair<std::string, int64_t>> sizes() const override;

  int64_t examples() const override { return batches_->sequences_per_epoch(); }
  // Which tokens are masked is drawn anew for each update.
  Update next_update(int64_t number) override;
  const BatchPosition& position() const override { return batches_->position(); }
  void seek(const BatchPosition& position) override;

  std::string describe_origins(const Update& update) const override;
  std::string list_origins(const Update& update) const override;

  void store(PartsToStore& parts) const override;

  bool can_validate() const override { return validation_.has_value(); }
  // The loss over the validation text, masked in the same way each time, and the share of tokens that are predicted.
  Scores validate(const Inference& inference) const override;

 private:
  // A text with its pieces, which refer to it.
  struct Text {
    Text(TextCorpus&& text, DocumentBorders borders)
        : corpus(std::move(text)), pieces(corpus, borders), rows(corpus, DocumentBorders::crossed) {}
    Text(const Text&) = delete;
    Text& operator=(const Text&) = delete;

    TextCorpus corpus;
    TextPieces pieces;
    TextRows rows;  // names where tokens come from
  };

  std::vector<RowRange> ranges_of(const Update& update) const;
  std::vector<MaskedText> masked_validation() const;
  Sample sample_of(const MaskedText& text, int64_t segment, std::span<const int32_t> predicted) const;

  MaskedModelRecipe recipe_;
  RandomKey key_;
  int64_t batches_per_update_, shards_per_batch_;
  Tokenizers tokenizers_;
  std::optional<Masking> masking_;
  std::optional<Text> train_, validation_;
  std::optional<TextBatches> batches_;
};

}  // namespace heed
