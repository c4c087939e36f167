// Losses of labels that do not exclude each other, and of numbers.
#pragma once

#include "kernels/calls/loss.h"

namespace heed::cpu {

// Of a few columns for each sequence: not worth several threads.
void label_loss(const LabelLoss& call);

}  // namespace heed::cpu
