// The norm of each head's columns of queries or keys.
#pragma once

#include "ops/rows/add_norm.h"

namespace heed {

struct NormGroups {
  int64_t count = 1;
};
// Each of `groups` equal groups of x's columns (heads, or all columns as one group) is normalized on its own. The gain
// and the bias have a group's width, and serve all, or the width of all groups, each of which has its own. The result
// has x's columns alone.
Var head_norm(Pass& pass, const Columns& x, NormGroups groups, const NormWeights& weights);

struct HeadNormOp {
  Columns x;
  Var normed;
  Tensor statistics;
  NormGroups groups;
  NormWeights weights;

  // Groups that share gains are one part; groups that have their own are as many.
  int64_t parts() const;
  void backward(Backend& backend) const;
};

}  // namespace heed
