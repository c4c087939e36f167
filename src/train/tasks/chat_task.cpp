#include "train/tasks/chat_task.h"

#include <algorithm>
#include <utility>

#include "data/batches/even_parts.h"
#include "data/lines/origins.h"
#include "train/tasks/text_task.h"

namespace heed {
namespace {

constexpr int64_t kRowsAtOnce = 4096;  // of validation, about this many in one pass
constexpr const char* kTemplateField = "chat_template";

int64_t rows_of(const Conversation& conversation) { return std::ssize(conversation.ids); }

uint64_t fingerprint(const Conversations& conversations) {
  RandomKey content;
  for (const Conversation& conversation : conversations.all) {
    for (const std::vector<int32_t>* const part : {&conversation.ids, &conversation.expected}) {
      for (const int32_t value : *part) {
        content = content.derive(static_cast<uint64_t>(value));
      }
    }
  }
  return content.bits;
}

StoredChatTemplate template_of(const ChatDataRecipe& data, const TaskSetup& setup) {
  StoredChatTemplate found = data.chat_template.empty() ? load_chat_template(setup.folder)
                                                        : load_chat_template(setup.folder, data.chat_template);
  require<ConfigError>(setup.stored == nullptr || setup.stored->text(kTemplateField) == found.chat.text(),
                       "data.prepared", "was prepared with another chat template: prepare it again");
  return found;
}

CausalShard shard_of(const std::vector<const Conversation*>& conversations, uint64_t first_row) {
  std::vector<int32_t> ids, expected;
  std::vector<int64_t> lengths;
  for (const Conversation* const one : conversations) {
    ids.insert(ids.end(), one->ids.begin(), one->ids.end());
    expected.insert(expected.end(), one->expected.begin(), one->expected.end());
    lengths.push_back(rows_of(*one));
  }
  return CausalShard({Sequences(std::move(ids), Segments(lengths, first_row)), Targets(std::move(expected))});
}

}  // namespace

ChatTask::ChatTask(const Recipe& recipe, const TaskSetup& setup)
    : data_(recipe.of<ChatRecipe>().data),
      batches_per_update_(recipe.training.accumulate),
      shards_per_batch_(shards_per_batch(recipe.training)),
      tokenizers_(setup.tokenizers != nullptr ? *setup.tokenizers : Tokenizers()),
      template_(template_of(data_, setup)),
      train_(read(data_.train, "train", setup)),
      validation_(data_.validation.empty() ? Conversations() : read(data_.validation, "validation", setup)),
      batches_(
          examples(),
          [this](int64_t i) {
            const int64_t rows = rows_of(train_.all[static_cast<size_t>(i)]);
            return SentenceRows{rows, rows};
          },
          BatchRules{.sentences = data_.batch_sequences, .order = PoolOrder::shuffled},
          static_cast<uint64_t>(recipe.training.seed), fingerprint(train_)) {}

Conversations ChatTask::read(const std::vector<std::string>& files, const std::string& name,
                             const TaskSetup& setup) const {
  ensure(tokenizers_.size() == 1, "chat", "{} tokenizers, expected that of the model that the run begins from",
         tokenizers_.size());
  const Tokenizer& tokenizer = *tokenizers_.front();
  return setup.stored != nullptr ? stored_conversations(*setup.stored, name, tokenizer.vocabulary_size(), data_.context)
                                 : read_conversations(files, {tokenizer, template_, data_.context, data_.too_long});
}

// A model that has seen no conversations before does not end its answers as the template does.
void ChatTask::complete(ModelMarks& marks) const {
  const std::optional<TokenId> end = end_of_answers(train_, *tokenizers_.front());
  if (end && *end != tokenizers_.front()->special().eos && std::ranges::count(marks.ends, end->value) == 0) {
    marks.ends.push_back(end->value);
  }
}

std::string ChatTask::describe_text() const {
  return can_validate() ? train_.text() + "; validation: " + validation_.text() : train_.text();
}

std::vector<std::pair<std::string, int64_t>> ChatTask::sizes() const {
  return {{"train_conversations", std::ssize(train_.all)}, {"validation_conversations", std::ssize(validation_.all)}};
}

Update ChatTask::next_update(int64_t) {
  const auto rows_at = [&](int64_t index) { return rows_of(train_.all[static_cast<size_t>(index)]); };
  Update update;
  uint64_t first_row = 0;
  for (int64_t i = 0; i < batches_per_update_; ++i) {
    const std::span<const int64_t> chosen = batches_.next();
    update.examples.insert(update.examples.end(), chosen.begin(), chosen.end());
    for (const std::span<const int64_t> part : cut_evenly(chosen, shards_per_batch_, rows_at)) {
      std::vector<const Conversation*> conversations;
      uint64_t rows = 0;
      for (const int64_t index : part) {
        conversations.push_back(&train_.all[static_cast<size_t>(index)]);
        rows += conversations.back()->ids.size();
      }
      update.shards.push_back(std::make_unique<CausalShard>(shard_of(conversations, first_row)));
      first_row += rows;
    }
  }
  return update;
}

void ChatTask::seek(const BatchPosition& position) { seek_batches(batches_, position, "data.train"); }

std::string ChatTask::describe_origins(const Update& update) const {
  return first_origins(std::span<const int64_t>(update.examples),
                       [&](int64_t index) { return train_.all[static_cast<size_t>(index)].where; });
}

std::string ChatTask::list_origins(const Update& update) const {
  return all_origins(std::span<const int64_t>(update.examples),
                     [&](int64_t index) { return train_.all[static_cast<size_t>(index)].where; });
}

void ChatTask::store(FieldsToStore& fields) const {
  fields.add_text(kTemplateField, template_.chat.text());
  store_conversations(fields, "train", train_);
  if (can_validate()) {
    store_conversations(fields, "validation", validation_);
  }
}

Scores ChatTask::validate(const Inference& inference) const {
  double sum = 0.0;
  int64_t learned = 0;
  for (size_t begin = 0; begin < validation_.all.size();) {
    std::vector<const Conversation*> conversations;
    for (int64_t rows = 0; begin < validation_.all.size() && rows < kRowsAtOnce; ++begin) {
      conversations.push_back(&validation_.all[begin]);
      rows += rows_of(validation_.all[begin]);
    }
    const CausalShard shard = shard_of(conversations, 0);
    Pass pass = Pass::infer(inference.backend, inference.storage);
    sum += shard.loss(pass, inference.model, Smoothing(0.0F)).total_negative_log_likelihood();
    learned += shard.targets();
  }
  const double loss = sum / static_cast<double>(learned);
  return {.loss = loss, .others = {}, .value = -loss, .samples = {}, .labels = {}};
}

}  // namespace heed
