// Rotary positions on the CPU.
#pragma once

#include "kernels/calls/elements.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void rotate(Context& context, const Rotation& call);

}  // namespace heed::cpu
