// Learning from conversations to write what the assistant wrote. The loss is the mean over the assistant's tokens alone.
#pragma once

#include "train/corpus/conversations.h"
#include "train/recipe/chat_recipe.h"
#include "train/tasks/task.h"

namespace heed {

class ChatTask final : public Task {
 public:
  // Reads the recipe's files. The tokenizer and, unless the recipe names a file, the chat template are those of the
  // setup's model.
  ChatTask(const Recipe& recipe, const TaskSetup& setup);

  const Tokenizers& tokenizers() const override { return tokenizers_; }
  std::optional<Documents> documents() const override { return std::nullopt; }
  using Task::complete;
  void complete(ModelMarks& marks) const override;
  const ChatTemplate* chat_template() const override { return &template_.chat; }
  std::string describe_text() const override;
  std::vector<std::pair<std::string, int64_t>> sizes() const override;

  int64_t examples() const override { return std::ssize(train_.all); }
  Update next_update(int64_t number) override;
  const BatchPosition& position() const override { return batches_.position(); }
  void seek(const BatchPosition& position) override;

  std::string describe_origins(const Update& update) const override;
  std::string list_origins(const Update& update) const override;

  void store(FieldsToStore& fields) const override;

  bool can_validate() const override { return !validation_.all.empty(); }
  // The loss.
  Scores validate(const Inference& inference) const override;

 private:
  Conversations read(const std::vector<std::string>& files, const std::string& name, const TaskSetup& setup) const;

  ChatDataRecipe data_;
  int64_t batches_per_update_, shards_per_batch_;
  Tokenizers tokenizers_;
  StoredChatTemplate template_;
  Conversations train_, validation_;
  BatchStream batches_;
};

}  // namespace heed
