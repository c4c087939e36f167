// The language modelling task.
#pragma once

#include <optional>

#include "train/language_model_recipe.h"
#include "train/task.h"

namespace heed {

class LanguageModelTask final : public Task {
 public:
  // Reads the text of the recipe's files.
  LanguageModelTask(const Recipe& recipe, const TaskSetup& setup);

  const Tokenizers& tokenizers() const override { return tokenizers_; }
  Documents documents() const override { return recipe_.documents; }
  std::string describe_text() const override;
  std::vector<std::pair<std::string, int64_t>> sizes() const override;

  int64_t examples() const override { return batches_->sequences_per_epoch(); }
  Update next_update(int64_t number) override;
  const BatchPosition& position() const override { return batches_->position(); }
  void seek(const BatchPosition& position) override;

  std::string describe_origins(const Update& update) const override;
  std::string list_origins(const Update& update) const override;

  void store(PartsToStore& parts) const override;

  bool can_validate() const override { return validation_.has_value(); }
  // The loss over the validation text, read in sequences as long as those in training; and samples, with the same draws
  // each time.
  Scores validate(const Inference& inference) const override;

 private:
  // A text with its rows, which refer to it.
  struct Text {
    Text(TextCorpus&& text, DocumentBorders borders) : corpus(std::move(text)), rows(corpus, borders) {}
    Text(const Text&) = delete;
    Text& operator=(const Text&) = delete;

    TextCorpus corpus;
    TextRows rows;
  };

  std::vector<Sample> write_samples(const Inference& inference) const;
  RowRange range_at(int64_t first_row) const;
  std::vector<RowRange> ranges_of(const Update& update) const;

  TextDataRecipe recipe_;
  SampleRecipe samples_;
  uint64_t seed_;
  int64_t batches_per_update_, shards_per_batch_;
  Tokenizers tokenizers_;
  // Of what the validation text has, what the training text has too.
  struct Shared {
    int64_t found = 0, all = 0;
  };
  // A stream has no documents; in documents of a line each, the lines are not counted again.
  struct Overlap {
    Shared documents, lines;
  };
  Overlap find_overlap() const;
  static Overlap stored_overlap(const StoredParts& parts);
  std::string describe_overlap() const;

  std::optional<Text> train_, validation_;
  Overlap overlap_;
  std::optional<TextBatches> batches_;
};

}  // namespace heed
