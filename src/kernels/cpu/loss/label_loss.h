// Losses of labels that do not exclude each other, and of numbers.
#pragma once

#include "kernels/calls/loss.h"

namespace heed::cpu {

// On one thread: a few columns for each sequence are not worth several.
void label_loss(const LabelLoss& call);

}  // namespace heed::cpu
