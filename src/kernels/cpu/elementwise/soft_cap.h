// The soft cap of scores and logits, and its gradient, in place.
#pragma once

#include "kernels/calls/elements.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void soft_cap(Context& context, const SoftCap& call);
void soft_cap_backward(Context& context, const SoftCapBackward& call);

}  // namespace heed::cpu
