// Label-smoothed cross-entropy, of logits or fused with the output projection.
#pragma once

#include "kernels/cpu/product.h"
#include "kernels/kernels.h"

namespace heed::cpu {

void output_loss(Context& context, Bf16Products products, const OutputLoss& call);
void cross_entropy(Context& context, const CrossEntropy& call);

}  // namespace heed::cpu
