// scores[r, h, d] = q[r, h] . a[d]: each head's query against a learned embedding of each distance.
#pragma once

#include "ops/pass.h"
#include "ops/weight.h"

namespace heed {

// The embeddings [distances, head width] are shared by the heads. The scores [rows, heads * distances] are in the master
// type.
Var relative_keys(Pass& pass, const Columns& queries, const Weight& embeddings, Heads heads);

struct RelativeKeysOp {
  Columns queries;
  const Weight* embeddings;
  int64_t heads;
  Var scores;

  void backward(Backend& backend);
};

}  // namespace heed
