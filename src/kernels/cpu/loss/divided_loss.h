// The loss over a vocabulary whose logits are divided among ranks.
#pragma once

#include "kernels/calls/loss.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void logit_sums(Context& context, const LogitSums& call);
void divided_loss(Context& context, const DividedLoss& call);

}  // namespace heed::cpu
