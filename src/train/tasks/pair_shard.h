// Pairs of texts that an encoder-decoder learns from.
#pragma once

#include <utility>

#include "parallel/shard.h"

namespace heed {

class PairShard final : public Shard {
 public:
  explicit PairShard(PairBatch&& batch) : batch_(std::move(batch)) {}

  int64_t targets() const override { return batch_.expected.size(); }
  ShardTexts texts() const override { return {batch_.source, batch_.target}; }
  TokenLosses loss(Pass& pass, const AnyModel& model, Smoothing smoothing) const override {
    return model.seq2seq().loss(pass, batch_, smoothing);
  }
  TokenLosses loss_of_hidden(Pass& pass, const AnyModel& model, const Hidden& hidden,
                             Smoothing smoothing) const override {
    return model.seq2seq().loss(pass, hidden, batch_.expected, smoothing);
  }

 private:
  PairBatch batch_;
};

}  // namespace heed
