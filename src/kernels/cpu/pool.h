// One row for each sequence, with its gradient, and the losses of what is read from such rows.
#pragma once

#include "kernels/cpu/context.h"
#include "kernels/kernels.h"

namespace heed::cpu {

void pool(Context& context, const PoolForward& call);
void pool_backward(Context& context, const PoolBackward& call);

// Of a few columns for each sequence: not worth several threads.
void label_loss(const LabelLoss& call);

}  // namespace heed::cpu
