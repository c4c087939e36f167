// The gate of a gated feed-forward layer, and its gradient.
#pragma once

#include "kernels/calls/activation.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void gate(Context& context, const GateForward& call);
void gate_backward(Context& context, const GateBackward& call);

}  // namespace heed::cpu
