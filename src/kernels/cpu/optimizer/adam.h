// Adam and AdamW, over flat memory.
#pragma once

#include "kernels/calls/optimizer.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void adam(Context& context, const AdamSweep& call);

}  // namespace heed::cpu
