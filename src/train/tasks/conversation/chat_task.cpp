#include "train/tasks/conversation/chat_task.h"

#include <utility>

#include "train/tasks/text_task.h"

namespace heed {
namespace {

constexpr int64_t kRowsAtOnce = 4096;  // of validation, about this many in one pass

int64_t rows_of(const Conversation& conversation) { return std::ssize(conversation.ids); }

CausalShard shard_with(const std::vector<const Conversation*>& conversations, uint64_t first_row) {
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
    : ConversationTask(recipe, setup),
      train_(read(data().train, "train", setup)),
      validation_(data().validation.empty() ? Conversations() : read(data().validation, "validation", setup)),
      batches_(batches_over(std::ssize(train_.all), fingerprint_of({&train_}))) {}

Conversations ChatTask::read(const std::vector<std::string>& files, const std::string& name,
                             const TaskSetup& setup) const {
  return setup.stored != nullptr ? stored(*setup.stored, name) : read_conversations(files, reading());
}

std::string ChatTask::describe_text() const {
  return can_validate() ? train_.text() + "; validation: " + validation_.text() : train_.text();
}

std::vector<std::pair<std::string, int64_t>> ChatTask::sizes() const {
  return {{"train_conversations", std::ssize(train_.all)}, {"validation_conversations", std::ssize(validation_.all)}};
}

int64_t ChatTask::rows(int64_t example) const { return rows_of(train_.all[static_cast<size_t>(example)]); }

std::unique_ptr<Shard> ChatTask::shard_of(std::span<const int64_t> examples, uint64_t first_row) const {
  std::vector<const Conversation*> conversations;
  conversations.reserve(examples.size());
  for (const int64_t example : examples) {
    conversations.push_back(&train_.all[static_cast<size_t>(example)]);
  }
  return std::make_unique<CausalShard>(shard_with(conversations, first_row));
}

void ChatTask::store(FieldsToStore& fields) const {
  ConversationTask::store(fields);
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
    const CausalShard shard = shard_with(conversations, 0);
    Pass pass = Pass::infer(inference.backend, inference.storage);
    sum += shard.loss(pass, inference.model, Smoothing(0.0F)).total_negative_log_likelihood();
    learned += shard.targets();
  }
  const double loss = sum / static_cast<double>(learned);
  return {.loss = loss, .others = {}, .value = -loss, .samples = {}, .labels = {}};
}

}  // namespace heed
