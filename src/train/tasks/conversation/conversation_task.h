// What the tasks over conversations share: their tokenizer and template, and how examples become updates.
#pragma once

#include <span>

#include "data/batches/batches.h"
#include "train/corpus/conversations.h"
#include "train/recipe/chat_recipe.h"
#include "train/tasks/task.h"

namespace heed {

class ConversationTask : public Task {
 public:
  ConversationTask(const ConversationTask&) = delete;
  ConversationTask& operator=(const ConversationTask&) = delete;

  const Tokenizers& tokenizers() const final { return tokenizers_; }
  std::optional<Documents> documents() const final { return std::nullopt; }
  using Task::complete;
  void complete(ModelMarks& marks) const final;
  const ChatTemplate* chat_template() const final { return &template_.chat; }

  int64_t examples() const final { return std::ssize(answers().all); }
  std::string describe_origins(const Update& update) const final;
  std::string list_origins(const Update& update) const final;

  void store(FieldsToStore& fields) const override;

 protected:
  // The tokenizer and, unless the recipe names a file, the chat template are those of the setup's model.
  ConversationTask(const Recipe& recipe, const TaskSetup& setup);

  const ChatDataRecipe& data() const { return data_; }
  ChatReading reading() const { return {*tokenizers_.front(), template_, data_.context, data_.too_long}; }
  Conversations stored(const StoredFields& fields, const std::string& name) const {
    return stored_conversations(fields, name, tokenizers_.front()->vocabulary_size(), data_.context);
  }
  BatchStream batches_over(int64_t examples, uint64_t fingerprint) const;
  Update next_of(BatchStream& batches) const;

 private:
  // Conversations to learn to write from, one of each example.
  virtual const Conversations& answers() const = 0;
  virtual int64_t rows(int64_t example) const = 0;
  virtual std::unique_ptr<Shard> shard_of(std::span<const int64_t> examples, uint64_t first_row) const = 0;

  ChatDataRecipe data_;
  uint64_t seed_;
  int64_t batches_per_update_, shards_per_batch_;
  Tokenizers tokenizers_;
  StoredChatTemplate template_;
};

}  // namespace heed
