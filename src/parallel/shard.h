// A part of an update's text, which goes through the model in one pass.
#pragma once

#include "models/any_model.h"

namespace heed {

// What all shards of an update have in common.
struct ShardPass {
  double loss_scale = 1.0;
  RandomKey key;  // of dropout
  Smoothing smoothing{0.0F};
};

struct ShardTexts {
  const Sequences& source;
  const Sequences& target;
};

class Shard {
 public:
  virtual ~Shard() = default;
  virtual int64_t targets() const = 0;  // rows that the loss counts
  // What the model reads: for an encoder-decoder's stages, by whose rows they have; for others the same twice.
  virtual ShardTexts texts() const = 0;
  // Runs a whole model. The tape refers to the shard, which must outlive it.
  virtual TokenLosses loss(Pass& pass, const AnyModel& model, Smoothing smoothing) const = 0;
  // The same, from what the model's last layer leaves.
  virtual TokenLosses loss_of_hidden(Pass& pass, const AnyModel& model, const Hidden& hidden,
                                     Smoothing smoothing) const = 0;
};

}  // namespace heed
