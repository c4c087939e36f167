// Calls of losses and of log-probabilities.
#pragma once

#include "heed_cuda/context.h"
#include "kernels/calls/loss.h"

namespace heed::cuda {

void output_loss(Context& context, const OutputLoss& call);
void cross_entropy(Context& context, const CrossEntropy& call);
void logit_sums(Context& context, const LogitSums& call);
void divided_loss(Context& context, const DividedLoss& call);
void label_loss(Context& context, const LabelLoss& call);
void distil_loss(Context& context, const DistilLoss& call);
void log_softmax(Context& context, const ConstView& logits, const View& log_probs);
void selected_log_softmax(Context& context, const SelectedLogSoftmax& call);
void average_probabilities(Context& context, const AverageProbabilities& call);

}  // namespace heed::cuda
