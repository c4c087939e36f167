// The sum of what several ranks computed.
#pragma once

#include "kernels/cpu/context.h"
#include "kernels/kernels.h"

namespace heed::cpu {

void sum_parts(Context& context, const SumParts& call);

}  // namespace heed::cpu
