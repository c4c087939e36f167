// Learning to restore text from text with noise, as T5 and BART do before they learn tasks.
#pragma once

#include <optional>

#include "data/batches/masked_text.h"
#include "data/batches/pair_batch.h"
#include "train/recipe/denoising_recipe.h"
#include "train/tasks/text_task.h"

namespace heed {

class DenoisingTask final : public TextTask {
 public:
  // Reads the text of the recipe's files. FormatError where validation would have no pair.
  DenoisingTask(const Recipe& recipe, const TaskSetup& setup);

  // What is hidden is drawn anew for each update.
  Update next_update(int64_t number) override;

  // The loss over the validation text, with the same noise each time.
  Scores validate(const Inference& inference) const override;

 private:
  TextRows origins() const override { return {train(), DocumentBorders::crossed}; }
  std::vector<ShardRows> validation_rows() const;
  // The pairs of these rows. `first` are those of the batch, and become those of the next one. No pair, where no text is
  // long enough.
  std::optional<PairBatch> batch_of(const TextCorpus& text, const ShardRows& rows, RandomKey key,
                                    FirstRows& first) const;

  RandomKey key_;
  Noising noising_;
  SentenceMarks marks_;
};

}  // namespace heed
