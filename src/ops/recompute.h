// Runs a part of the model without saving its activations, and runs it again when backward gets there.
#pragma once

#include <functional>
#include <vector>

#include "ops/pass.h"
#include "ops/var.h"

namespace heed {

using RecomputeBody = std::function<std::vector<Var>(Pass& pass, const std::vector<Var>& inputs)>;

// body(pass, inputs), saving only the inputs. Random numbers are counter-based, so the second run draws the same
// dropout. What the body captures must outlive the tape, and it must use no Vars except `inputs`.
std::vector<Var> recomputed(Pass& pass, std::vector<Var> inputs, RecomputeBody body);

struct RecomputeOp {
  std::vector<Var> inputs, outputs;
  RecomputeBody body;
  Pass start;  // the pass before the body ran

  void backward(Backend& backend);
};

}  // namespace heed
