// The loss of labels that do not exclude each other, or of numbers.
#pragma once

#include <vector>

#include "kernels/calls/loss.h"
#include "ops/loss/loss.h"

namespace heed {

// Targets, one for each logit, row by row: 0 or 1 of a label, or a number.
struct LabelTargets {
  std::vector<double> values;
  int64_t labels = 1;  // of a row
};

// A row's loss is the sum over its labels. Gradients are those of the sum of all rows, times the tape's scale.
TokenLosses label_loss(Pass& pass, const Logits& logits, const LabelTargets& targets, LabelLossKind kind);

struct LabelLossOp {
  Var logits;
  Tensor d_logits;  // becomes the gradient of the logits
  double scale;

  void backward(Backend& backend);
};

}  // namespace heed
