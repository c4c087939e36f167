// The sum of what several ranks computed.
#pragma once

#include "kernels/calls/elements.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void sum_parts(Context& context, const SumParts& call);

}  // namespace heed::cpu
