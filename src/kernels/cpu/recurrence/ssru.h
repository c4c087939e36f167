// The simpler simple recurrent unit.
#pragma once

#include "kernels/calls/ssru.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void ssru(Context& context, const SsruForward& call);
void ssru_backward(Context& context, const SsruBackward& call);

}  // namespace heed::cpu
