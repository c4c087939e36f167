// The gate of a gated feed-forward layer, and its gradient.
#pragma once

#include "kernels/cpu/context.h"
#include "kernels/kernels.h"

namespace heed::cpu {

void gate(Context& context, const GateForward& call);
void gate_backward(Context& context, const GateBackward& call);

}  // namespace heed::cpu
