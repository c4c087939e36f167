// outputs = body(inputs), without recording. Backward runs the body again, from the same point of the random stream,
// now recording; passes the outputs' gradients to the new outputs; and runs the new tape's backward.
// Saves the inputs, the outputs and the point of the random stream.
#include "ops/recompute.h"

#include <algorithm>

#include "ops/tape.h"

namespace heed {

std::vector<Var> recomputed(Pass& pass, std::vector<Var> inputs, RecomputeBody body) {
  if (!pass.recording()) {
    return body(pass, inputs);
  }
  Pass unrecorded = pass.unrecorded();
  std::vector<Var> outputs = body(unrecorded, inputs);
  if (std::ranges::none_of(outputs, &Var::wants_gradient)) {
    pass.continue_after(unrecorded);
    return outputs;
  }
  pass.tape().record(RecomputeOp{std::move(inputs), outputs, std::move(body), pass});
  pass.continue_after(unrecorded);
  return outputs;
}

void RecomputeOp::backward(Backend& backend) {
  Tape inner(start.tape().loss_scale());
  Pass replay = start.recorded_on(inner);
  {
    std::vector<Var> again = body(replay, inputs);
    ensure(again.size() == outputs.size(), "recompute", "{} outputs, then {}", outputs.size(), again.size());
    for (size_t i = 0; i < again.size(); ++i) {
      again[i].take_gradient_of(outputs[i]);
    }
  }
  inner.backward(backend);
}

}  // namespace heed
