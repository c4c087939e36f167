// Residual add, dropout of the branch and normalization in one pass over memory; and the gradient.
#pragma once

#include "kernels/calls/norm.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void add_norm(Context& context, const AddNormForward& call);
void add_norm_backward(Context& context, const AddNormBackward& call);

}  // namespace heed::cpu
