// The mean of several models' next-token distributions.
#pragma once

#include "kernels/calls/loss.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void average_probabilities(Context& context, const AverageProbabilities& call);

}  // namespace heed::cpu
