// What one model predicts, for another to learn from.
#pragma once

#include "ops/attention/soft_cap.h"
#include "ops/roles.h"
#include "ops/rows/linear.h"

namespace heed {

// A teacher's pass (Pass::giving) ends in output_loss with the rows that the loss counts, whose logits are
// z = x W^T + b, perhaps capped. A student's pass over the same text (Pass::learning) makes these logits, a block of rows
// at a time, and throws them away again.
struct Lesson {
  double temperature = 1.0, weight = 0.5;  // as in DistilLoss
  Var x = {};
  LinearWeights output = {};
  SoftCapAt cap = {};
};

}  // namespace heed
