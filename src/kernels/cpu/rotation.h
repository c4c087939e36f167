// Rotary positions on the CPU.
#pragma once

#include "kernels/cpu/context.h"
#include "kernels/kernels.h"

namespace heed::cpu {

void rotate(Context& context, const Rotation& call);

}  // namespace heed::cpu
