// What a layer's values know of their own tokens: a table's rows, beside what the residual stream says.
#pragma once

#include "nn/norm.h"
#include "tensor/sequences.h"

namespace heed {

// v[r] += norm(table[token r]). The norm's gains begin at zero, so that the layer begins as it is without the table,
// which several layers may share.
class ValueEmbedding {
 public:
  // `norm` has any width. The table is as wide as all heads' values.
  ValueEmbedding(const Scope& scope, const Weight& table, const NormShape& norm);

  void add_to(Pass& pass, const Columns& values, const Sequences& sequences) const;

 private:
  const Weight* table_;
  Norm norm_;
};

}  // namespace heed
