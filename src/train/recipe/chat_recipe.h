// The recipes of tasks over conversations, and that of a language model that learns to answer from them.
#pragma once

#include "heed/types/tokenizer.h"
#include "train/recipe/recipe.h"

namespace heed {

struct ChatDataRecipe {
  std::vector<std::string> train, validation;
  std::string chat_template;  // a file; empty: that of the model that the run begins from
  int64_t context = 1024;     // tokens of a conversation
  TooLong too_long = TooLong::drop;
  int64_t batch_sequences = 8;  // conversations, or pairs of them
};

// What the recipes of tasks over conversations share: [data].
class ConversationRecipe : public TaskRecipe {
 public:
  ChatDataRecipe data;

  void set_defaults(Recipe& recipe) const override { recipe.training.smoothing = 0.0; }
  std::vector<SettingTable> settings() override;
  void validate(const Recipe& recipe) const override;
  std::string_view validation_key() const override { return "data.validation"; }
  bool has_validation_text() const override { return !data.validation.empty(); }
  std::vector<RecipeFile> files() const override;
  BatchSize batch_size(int64_t length) const override;
  // The tokenizer is always that of the model that the run begins from.
  std::vector<int64_t> vocabulary_sizes() const override { return {}; }
};

class ChatRecipe final : public ConversationRecipe {
 public:
  std::unique_ptr<TaskRecipe> clone() const override { return std::make_unique<ChatRecipe>(*this); }
  std::unique_ptr<Task> make_task(const Recipe& recipe, const TaskSetup& setup) const override;
};

}  // namespace heed
