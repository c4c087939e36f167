// Selecting rows of a matrix, and adding their gradients back to it.
#pragma once

#include "kernels/calls/rows.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void select_rows(Context& context, const SelectRows& call);
void select_rows_backward(Context& context, const SelectRowsBackward& call);

}  // namespace heed::cpu
