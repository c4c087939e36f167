// Runs a part of the model without keeping what its backward needs, and runs it again when backward gets there.
#pragma once

#include <functional>
#include <vector>

#include "ops/pass.h"

namespace heed {

using RecomputeBody = std::function<std::vector<Var>(Pass& pass, const std::vector<Var>& inputs)>;

// body(pass, inputs), keeping only the inputs. Random numbers are counters, so the replay draws the same dropout. What
// the body captures must outlive the tape, and it must reach Vars through `inputs` alone.
std::vector<Var> recomputed(Pass& pass, std::vector<Var> inputs, RecomputeBody body);

// Saves the inputs and the point of the random stream.
struct RecomputeOp {
  std::vector<Var> inputs, outputs;
  RecomputeBody body;
  Pass start;  // as the pass stood before the body

  void backward(Backend& backend);
};

}  // namespace heed
