// What the tasks over running text share: its tokens, the order of its batches, and where they come from.
#pragma once

#include <optional>

#include "train/recipe/text_recipe.h"
#include "train/tasks/task.h"

namespace heed {

class TextTask : public Task {
 public:
  TextTask(const TextTask&) = delete;
  TextTask& operator=(const TextTask&) = delete;

  const Tokenizers& tokenizers() const final { return tokenizers_; }
  std::string describe_text() const override;
  std::vector<std::pair<std::string, int64_t>> sizes() const override;

  int64_t examples() const final { return batches_.sequences_per_epoch(); }
  const BatchPosition& position() const final { return batches_.position(); }
  void seek(const BatchPosition& position) final { seek_batches(batches_, position, "data.train"); }

  std::string describe_origins(const Update& update) const final;
  std::string list_origins(const Update& update) const final;

  void store(FieldsToStore& fields) const override;

  bool can_validate() const final { return validation_.has_value(); }

 protected:
  // How many rows of the training text are an epoch.
  using RowsOf = int64_t (*)(const TextCorpus& text, DocumentBorders borders);
  // Takes the setup's tokenizers or makes the recipe's. Reads the text of the recipe's files, or takes the stored
  // tokens.
  TextTask(const Recipe& recipe, const TaskSetup& setup, RowsOf rows_of);

  const TextDataRecipe& data() const { return data_; }
  uint64_t seed() const { return seed_; }  // of the run
  const Tokenizer& tokenizer() const { return *tokenizers_.front(); }
  const TextCorpus& train() const { return train_; }
  const std::optional<TextCorpus>& validation() const { return validation_; }

  struct ShardRows {
    std::vector<RowRange> ranges;
    uint64_t first_row = 0;  // in the whole update
  };
  // The rows of the shards of update `number`; adds its examples, each by the number of its first row.
  std::vector<ShardRows> next_shards(int64_t number, Update& update);
  // Sequences of the training's length that cover `rows`, in groups of at most about `group_rows` rows.
  std::vector<std::vector<RowRange>> cover(int64_t rows, int64_t group_rows) const;

 private:
  // The training text in rows that are numbered as those of batches are.
  virtual TextRows origins() const = 0;
  std::vector<RowRange> ranges_of(const Update& update) const;
  TextCorpus read(const TextRules& rules, const std::string& name, const TaskSetup& setup) const;
  std::string describe(const TextCorpus& text) const;

  TextDataRecipe data_;
  uint64_t seed_;
  int64_t batches_per_update_, shards_per_batch_;
  TextSplit split_;
  Tokenizers tokenizers_;
  TextCorpus train_;
  std::optional<TextCorpus> validation_;
  int64_t rows_;  // of an epoch
  TextBatches batches_;
};

// Rows that each have one token to predict, or none.
class TextShard : public Shard {
 public:
  explicit TextShard(TokenBatch&& batch) : batch_(std::move(batch)), targets_(batch_.expected.counted()) {}

  int64_t targets() const final { return targets_; }
  ShardTexts texts() const final { return {batch_.tokens, batch_.tokens}; }

 protected:
  const TokenBatch& batch() const { return batch_; }

 private:
  TokenBatch batch_;
  int64_t targets_;
};

// The same for a language model, which may learn the tokens after the next too.
class CausalShard final : public TextShard {
 public:
  // The gradients of the loss are those of w[0] L1 + w[1] L2 + ... more, where Lk is the loss of the k-th token after
  // the next, as far as the sequence goes.
  explicit CausalShard(TokenBatch&& batch, std::span<const double> ahead_weights = {});

  TokenLosses loss(Pass& pass, const AnyModel& model, Smoothing smoothing) const override {
    return loss_of_hidden(pass, model, model.causal_lm().hidden(pass, batch().tokens), smoothing);
  }
  TokenLosses loss_of_hidden(Pass& pass, const AnyModel& model, const Hidden& hidden,
                             Smoothing smoothing) const override;

 private:
  struct Ahead {
    Targets expected;
    double weight;
  };
  std::vector<Ahead> ahead_;
};

}  // namespace heed
