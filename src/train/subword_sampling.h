// Training lines cut into other subwords each time they come.
#pragma once

#include "checkpoint/model_directory.h"
#include "data/pair_batch.h"
#include "text/subword_dropout.h"
#include "train/recipe.h"

namespace heed {

class SubwordSampling {
 public:
  // The recipe's tokenizer.dropout of these tokenizers. ConfigError for one that is not bpe.
  SubwordSampling(const Recipe& recipe, const TokenizerPair& tokenizers);

  // The cuts of an update, which are the same whenever it is made. Must not outlive this. A sentence of which more than
  // data.longest tokens would come stays as it was.
  PairChanges at(int64_t update) const;

 private:
  TokenChange change(const SubwordDropout& dropout, RandomKey key) const;

  Probability left_out_;
  size_t longest_;
  RandomKey key_;
  SubwordDropout source_, target_;
};

}  // namespace heed
