// The loss against a teacher's distribution.
#pragma once

#include "kernels/calls/loss.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void distil_loss(Context& context, const DistilLoss& call);

}  // namespace heed::cpu
