// Learning which of two answers is preferred, without going far from the model that the run begins from.
#pragma once

#include "train/corpus/preferences.h"
#include "train/recipe/preference_recipe.h"
#include "train/tasks/conversation/conversation_task.h"

namespace heed {

class PreferenceTask final : public ConversationTask {
 public:
  // Reads the recipe's files, and where the setup has a backend, has the model that the run begins from read all pairs
  // once: its margins stay, the model does not.
  PreferenceTask(const Recipe& recipe, const TaskSetup& setup);

  std::string describe_text() const override;
  std::vector<std::pair<std::string, int64_t>> sizes() const override;

  Update next_update(int64_t /*number*/) override { return next_of(batches_); }
  const BatchPosition& position() const override { return batches_.position(); }
  void seek(const BatchPosition& position) override { seek_batches(batches_, position, "data.train"); }

  void store(FieldsToStore& fields) const override;

  bool can_validate() const override { return validation_.size() > 0; }
  // The loss, the mean of the margins of rewards, and how often they are above zero.
  Scores validate(const Inference& inference) const override;

 private:
  Preferences read(const std::vector<std::string>& files, const std::string& name, const TaskSetup& setup) const;
  void refer_to(const Recipe& recipe, Backend& backend);

  const Conversations& answers() const override { return train_.chosen; }
  int64_t rows(int64_t example) const override { return train_.rows(example); }
  std::unique_ptr<Shard> shard_of(std::span<const int64_t> examples, uint64_t first_row) const override;

  double beta_;
  Preferences train_, validation_;
  std::vector<double> train_margins_, validation_margins_;  // of the model that the run begins from
  BatchStream batches_;
};

}  // namespace heed
