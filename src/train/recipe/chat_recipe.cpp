#include "train/recipe/chat_recipe.h"

#include <algorithm>

#include "train/recipe/recipe_checks.h"
#include "train/tasks/conversation/chat_task.h"

namespace heed {

std::vector<SettingTable> ConversationRecipe::settings() {
  return {{"data",
           {file_setting("train", data.train), file_setting("validation", data.validation),
            file_setting("chat_template", data.chat_template), setting("context", data.context),
            choice("too_long", data.too_long, kTooLongNames), setting("batch_sequences", data.batch_sequences)},
           {}}};
}

void ConversationRecipe::validate(const Recipe& recipe) const {
  check(!data.train.empty(), "data.train names no file");
  check(std::ranges::count(data.train, "-") + std::ranges::count(data.validation, "-") == 0,
        "data.train and data.validation must name files, not the standard input (-)");
  check(!recipe.training.from.empty() && recipe.training.from_tokenizers,
        "the task {} takes the tokenizer of another model: set training.from, and leave out from_tokenizers",
        recipe.training.task);
  check_at_least("data.batch_sequences", data.batch_sequences, 1);
  check_between("data.context", data.context, {1, recipe.model.max_length});
}

std::vector<RecipeFile> ConversationRecipe::files() const {
  std::vector<RecipeFile> files;
  add_files(files, "data.train", data.train);
  add_files(files, "data.validation", data.validation);
  if (!data.chat_template.empty()) {
    files.push_back({"data.chat_template", data.chat_template});
  }
  return files;
}

BatchSize ConversationRecipe::batch_size(int64_t length) const {
  return {data.batch_sequences, length == 0 ? data.context : length};
}

std::unique_ptr<Task> ChatRecipe::make_task(const Recipe& recipe, const TaskSetup& setup) const {
  return std::make_unique<ChatTask>(recipe, setup);
}

}  // namespace heed
