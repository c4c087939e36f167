// Learning from conversations to write what the assistant wrote. The loss is the mean over the assistant's tokens alone.
#pragma once

#include "train/tasks/conversation/conversation_task.h"

namespace heed {

class ChatTask final : public ConversationTask {
 public:
  // Reads the recipe's files.
  ChatTask(const Recipe& recipe, const TaskSetup& setup);

  std::string describe_text() const override;
  std::vector<std::pair<std::string, int64_t>> sizes() const override;

  Update next_update(int64_t /*number*/) override { return next_of(batches_); }
  const BatchPosition& position() const override { return batches_.position(); }
  void seek(const BatchPosition& position) override { seek_batches(batches_, position, "data.train"); }

  void store(FieldsToStore& fields) const override;

  bool can_validate() const override { return !validation_.all.empty(); }
  // The loss.
  Scores validate(const Inference& inference) const override;

 private:
  Conversations read(const std::vector<std::string>& files, const std::string& name, const TaskSetup& setup) const;
  const Conversations& answers() const override { return train_; }
  int64_t rows(int64_t example) const override;
  std::unique_ptr<Shard> shard_of(std::span<const int64_t> examples, uint64_t first_row) const override;

  Conversations train_, validation_;
  BatchStream batches_;
};

}  // namespace heed
