// Training lines cut into other subwords each time they come.
#pragma once

#include <optional>

#include "data/pair_batch.h"
#include "text/subword_dropout.h"
#include "train/translation_data.h"

namespace heed {

class SubwordSampling {
 public:
  // The recipe's dropout of these tokenizers' merges. ConfigError where there is some for one that is not bpe.
  SubwordSampling(const TranslationRecipe& recipe, uint64_t seed, const TokenizerPair& tokenizers);

  // The cuts of an update, which are the same whenever it is made. Must not outlive this. A sentence of which more than
  // data.max_length tokens would come stays as it was.
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
