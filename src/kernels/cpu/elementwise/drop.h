// Dropout alone, in place.
#pragma once

#include "kernels/calls/elements.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void drop(Context& context, const Drop& call);

}  // namespace heed::cpu
