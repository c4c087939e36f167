// Label-smoothed cross-entropy, of logits or fused with the output projection.
#pragma once

#include "kernels/calls/loss.h"
#include "kernels/cpu/product/product.h"

namespace heed::cpu {

void output_loss(Context& context, Bf16Products products, const OutputLoss& call);
void cross_entropy(Context& context, const CrossEntropy& call);
void log_softmax(Context& context, const ConstView& logits, const View& log_probs);
void selected_log_softmax(Context& context, const SelectedLogSoftmax& call);

}  // namespace heed::cpu
