#include "train/tasks/conversation/conversation_task.h"

#include <algorithm>
#include <utility>

#include "data/batches/even_parts.h"
#include "data/lines/origins.h"

namespace heed {
namespace {

constexpr const char* kTemplateField = "chat_template";

Tokenizers tokenizer_of_start(const Recipe& recipe, const TaskSetup& setup) {
  ensure(setup.tokenizers != nullptr && setup.tokenizers->size() == 1, recipe.training.task,
         "expected the tokenizer of the model that the run begins from");
  return *setup.tokenizers;
}

StoredChatTemplate template_of(const ChatDataRecipe& data, const TaskSetup& setup) {
  StoredChatTemplate found = data.chat_template.empty() ? load_chat_template(setup.folder)
                                                        : load_chat_template(setup.folder, data.chat_template);
  require<ConfigError>(setup.stored == nullptr || setup.stored->text(kTemplateField) == found.chat.text(),
                       "data.prepared", "was prepared with another chat template: prepare it again");
  return found;
}

}  // namespace

ConversationTask::ConversationTask(const Recipe& recipe, const TaskSetup& setup)
    : data_(recipe.of<ConversationRecipe>().data),
      seed_(static_cast<uint64_t>(recipe.training.seed)),
      batches_per_update_(recipe.training.accumulate),
      shards_per_batch_(shards_per_batch(recipe.training)),
      tokenizers_(tokenizer_of_start(recipe, setup)),
      template_(template_of(data_, setup)) {}

// A model that has seen no conversations before does not end its answers as the template does.
void ConversationTask::complete(ModelMarks& marks) const {
  const std::optional<TokenId> end = end_of_answers(answers(), *tokenizers_.front());
  if (end && *end != tokenizers_.front()->special().eos && std::ranges::count(marks.ends, end->value) == 0) {
    marks.ends.push_back(end->value);
  }
}

BatchStream ConversationTask::batches_over(int64_t examples, uint64_t fingerprint) const {
  return {examples,
          [this](int64_t example) {
            const int64_t own = rows(example);
            return SentenceRows{own, own};
          },
          BatchRules{.sentences = data_.batch_sequences, .order = PoolOrder::shuffled}, seed_, fingerprint};
}

Update ConversationTask::next_of(BatchStream& batches) const {
  Update update;
  uint64_t first_row = 0;
  for (int64_t i = 0; i < batches_per_update_; ++i) {
    const std::span<const int64_t> chosen = batches.next();
    update.examples.insert(update.examples.end(), chosen.begin(), chosen.end());
    for (const std::span<const int64_t> part :
         cut_evenly(chosen, shards_per_batch_, [this](int64_t example) { return rows(example); })) {
      update.shards.push_back(shard_of(part, first_row));
      for (const int64_t example : part) {
        first_row += static_cast<uint64_t>(rows(example));
      }
    }
  }
  return update;
}

std::string ConversationTask::describe_origins(const Update& update) const {
  return first_origins(std::span<const int64_t>(update.examples),
                       [&](int64_t example) { return answers().all[static_cast<size_t>(example)].where; });
}

std::string ConversationTask::list_origins(const Update& update) const {
  return all_origins(std::span<const int64_t>(update.examples),
                     [&](int64_t example) { return answers().all[static_cast<size_t>(example)].where; });
}

void ConversationTask::store(FieldsToStore& fields) const { fields.add_text(kTemplateField, template_.chat.text()); }

}  // namespace heed
