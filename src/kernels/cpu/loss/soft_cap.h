// Element-wise work in place: dropout alone, and a soft cap with its gradient.
#pragma once

#include "kernels/calls/elements.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void drop(Context& context, const Drop& call);
void soft_cap(Context& context, const SoftCap& call);
void soft_cap_backward(Context& context, const SoftCapBackward& call);

}  // namespace heed::cpu
