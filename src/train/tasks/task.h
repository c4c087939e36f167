// What a run learns: the trainer's interface to text and architecture, neither of which it knows.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "checkpoint/model_directory.h"
#include "data/batches/batches.h"
#include "data/corpus/stored_fields.h"
#include "heed/types/train.h"
#include "models/any_model.h"
#include "parallel/shard.h"
#include "ranks/ranks.h"
#include "text/chat/chat_template.h"
#include "text/model_marks.h"

namespace heed {

// The data of one optimizer step: its shards, in order, with rows numbered across all of them, and the numbers of its
// examples in the text.
struct Update {
  std::vector<std::unique_ptr<Shard>> shards;
  std::vector<int64_t> examples;
  int64_t rows_of_example = 0;  // of a text in sequences: at most

  int64_t targets() const;
};

class Task {
 public:
  virtual ~Task() = default;

  virtual const Tokenizers& tokenizers() const = 0;  // one for each role of the model
  // How a language model's text is divided, for config.json; nothing: as in the model that the run began from, unless
  // that was a stream.
  virtual std::optional<Documents> documents() const { return Documents::none; }
  // The template of a model that learns from conversations; null for others.
  virtual const ChatTemplate* chat_template() const { return nullptr; }
  // What an encoder learns to read, for config.json.
  virtual TextColumns columns() const { return TextColumns::one; }
  // What the data decides about the model, besides its vocabularies: the labels of a head.
  virtual void complete(ModelConfig&) const {}
  virtual void complete(ModelMarks&) const {}     // and about its marks: what ends an answer
  virtual std::string describe_text() const = 0;  // what was read, in one line
  // Sizes of the text, by their names in metrics.jsonl: {"train_sentences", 29000}.
  virtual std::vector<std::pair<std::string, int64_t>> sizes() const = 0;

  virtual int64_t examples() const = 0;  // of an epoch
  // The data of update `number`, counted from 0. Depends only on the number and the position.
  virtual Update next_update(int64_t number) = 0;
  // The position of next_update() in the text.
  virtual const BatchPosition& position() const = 0;
  // ConfigError for a position in another text.
  virtual void seek(const BatchPosition& position) = 0;

  // Where an update's examples come from, for messages: some of them in one line, or all, one per line.
  virtual std::string describe_origins(const Update& update) const = 0;
  virtual std::string list_origins(const Update& update) const = 0;

  // All that it has read, for a prepared corpus; the fields refer to the task.
  virtual void store(FieldsToStore& fields) const = 0;

  virtual bool can_validate() const = 0;  // whether there is text for it
  virtual Scores validate(const Inference& inference) const = 0;
};

// Continues `batches` at the position. ConfigError, which begins with `key`, for a position in another text.
template <class Batches>
void seek_batches(Batches& batches, const BatchPosition& position, std::string_view key) {
  require<ConfigError>(position.stream == batches.position().stream, key,
                       "the text is not the one that the run started with");
  batches.seek(position);
}

// What a task is built with, besides its recipe.
struct TaskSetup {
  const Tokenizers* tokenizers = nullptr;  // of the run that is resumed; null: the recipe's, or learned from the text
  // The marks of the model that the run goes on from, which its tokenizers do not know, and the model's folder.
  ModelMarks marks = {};
  ModelFolder folder = {};
  int threads = 1;
  Backend* backend = nullptr;            // of the run; null where the text is read for a prepared corpus
  Ranks ranks;                           // that tokenize the text together: each has all tokens in the end
  std::filesystem::path spill_folder;    // for unnamed files with tokens that do not fit into memory
  const StoredFields* stored = nullptr;  // what store() gave, instead of the text; then `tokenizers` are given too
};

}  // namespace heed
