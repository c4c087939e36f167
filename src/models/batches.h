// Batches, and those of models with labels.
#pragma once

#include "ops/loss/label_loss.h"
#include "tensor/batches.h"

namespace heed {

// Texts, and the values of each: 0 or 1 for each label, or one number.
struct ValuedBatch {
  Sequences texts;
  LabelTargets values;
};

}  // namespace heed
