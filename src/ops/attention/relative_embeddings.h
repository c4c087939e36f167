// Learned embeddings of distances, which attention adds to keys and to values (Shaw et al., 2018).
#pragma once

#include "ops/pass.h"
#include "ops/var.h"
#include "ops/weight.h"

namespace heed {

// On keys: scores[r, h, d] = q[r, h] . a[d], each head's query against the embedding of each distance. The embeddings
// [distances, head width] are shared by the heads. The scores [rows, heads * distances] are in the master type.
Var relative_keys(Pass& pass, const Columns& queries, const Weight& embeddings, Heads heads);

struct RelativeKeysOp {
  Columns queries;
  const Weight* embeddings;
  int64_t heads;
  Var scores;

  void backward(Backend& backend);
};

// On values: output[r, h] += the sum over d of mass[r, h, d] b[d]. The embeddings [head width, distances], columns of
// which they are, are shared by the heads. The mass [rows, heads * distances] is in the master type; returns it in the
// storage type, for backward.
Tensor add_relative_values(Pass& pass, const Tensor& mass, const Weight& embeddings, View output);

// Contributes to the embeddings' gradient. Returns that of the mass, in the master type.
Tensor relative_values_backward(Backend& backend, const Weight& embeddings, ConstView mass, ConstView d_output);

}  // namespace heed
