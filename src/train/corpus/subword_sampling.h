// Subword regularization: training lines are split into other subwords each time they are used.
#pragma once

#include <optional>

#include "data/batches/pair_batch.h"
#include "text/subword_dropout.h"
#include "train/corpus/translation_data.h"

namespace heed {

class SubwordSampling {
 public:
  // With the recipe's dropout of these tokenizers' merges. ConfigError for dropout with a tokenizer that is not bpe.
  SubwordSampling(const TranslationRecipe& recipe, uint64_t seed, const TranslationTokenizers& tokenizers);

  // The changes for an update, the same every time. Must not outlive this. A sentence that would get more than
  // data.max_length tokens stays unchanged.
  PairChanges at(int64_t update) const;

 private:
  struct Side {
    SubwordDropout dropout;
    Probability left_out;
  };
  static std::optional<Side> side_of(const Tokenizer& tokenizer, double left_out);
  TokenChange change(const std::optional<Side>& side, RandomKey key) const;

  size_t max_length_;
  RandomKey key_;
  std::optional<Side> source_, target_;
};

}  // namespace heed
