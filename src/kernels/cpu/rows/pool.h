// One row for each sequence: the mean or the maximum of its rows, with its gradient.
#pragma once

#include "kernels/calls/rows.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void pool(Context& context, const PoolForward& call);
void pool_backward(Context& context, const PoolBackward& call);

}  // namespace heed::cpu
