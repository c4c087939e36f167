// A decoder's recurrence in place of self-attention.
#pragma once

#include "nn/attention.h"
#include "ops/attention/ssru.h"

namespace heed {

// The simpler simple recurrent unit: gates and candidates of the same rows, through one projection [g | x], and nothing
// after it. While decoding, a sequence's state is the cell of its last token. Where ranks divide a model, each computes
// all of it.
class Ssru {
 public:
  Ssru(const Scope& scope, const AttentionShape& shape);
  // A mask is refused, and no weights of tokens are there to be asked for.
  Var operator()(Pass& pass, const Var& x, const Sequences& sequences, const SelfAttentionCall& call = {}) const;

 private:
  Linear projection_;
  const Weight* gate_bias_ = nullptr;
};

}  // namespace heed
