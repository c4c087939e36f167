// The calls of losses and of log-probabilities.
#pragma once

#include <span>

#include "kernels/calls/weight.h"

namespace heed {

// Output projection and label-smoothed cross-entropy, block of rows by block of rows:
//   z = x W^T + b    q = (1 - s) onehot(target) + s / V    loss = lse(z) - q.z    d_logits = softmax(z) - q
// With a cap (above 0), cap * tanh(z / cap) takes the place of z, and d_logits are those of the z before:
//   d_logits = (softmax(capped) - q) * (1 - (capped / cap)^2)
// A negative target is ignored: loss 0, gradient 0. losses, master type [rows, 2]: the loss above, and lse(z) -
// z[target].
struct OutputLoss {
  ConstView x;
  WeightView weight;
  ConstView bias;
  ConstView targets;  // i32 [1, rows]
  double smoothing = 0.0, cap = 0.0;
  View losses;
  View d_logits;  // storage type [rows, vocabulary]; empty when no gradient is needed
};

// The same loss, from logits that are computed already.
struct CrossEntropy {
  ConstView logits, targets;
  double smoothing = 0.0;
  View losses, d_logits;
};

// The log-softmax of some of a row's logits, each row's own:
//   z[i] = logits[r, columns[begin + i]]    log_probs[r, i] = z[i] - log(sum over i of e^z[i])    begin + i < end
// What follows in a row of log_probs is minus infinity. The result depends on the z of its row alone.
struct SelectedLogSoftmax {
  ConstView logits;   // storage or master type
  ConstView columns;  // i32 [1, any]
  ConstView ranges;   // i32 [2, rows]: where the columns of each row begin and end; none is empty
  View log_probs;     // master type [rows, as many as the longest range, or more]
};

// The mean of K models' distributions, from the log-probabilities of each:
//   mean[r, c] = log((sum over k of e^log_probs[k][r, c]) / K)      minus infinity where all of them are
// A NaN of any model is one of the mean.
struct AverageProbabilities {
  std::span<const ConstView> log_probs;  // f32 or master type, all of one shape; at least one
  View mean;                             // of their shape and type, in memory of its own
};

// What the loss over all columns needs to know of rows of logits z of which a rank has some columns:
//   sums[r] = max z    sum of e^(z - max z)    sum of z    z[target]
// z[target] counts as 0 where the target is negative, which means that it is not among these columns.
struct LogitSums {
  ConstView logits;   // master type [rows, columns]
  ConstView targets;  // i32 [1, rows]: of these columns
  View sums;          // master type [rows, 4]
};

// OutputLoss's losses and gradient from logits of which a rank has some columns (capped already, if there is a cap),
// and the LogitSums of all ranks, which are combined in their order:
//   lse(z) = m + log(sum over k of sum_k e^(max_k - m))    m = max over k of max_k
struct DividedLoss {
  ConstView logits, targets;
  std::span<const ConstView> sums;
  int64_t vocabulary = 0;  // columns of all ranks
  double smoothing = 0.0, cap = 0.0;
  View losses;
  View d_logits;  // of these columns, perhaps in the logits' memory; empty when no gradient is needed
};

// A loss that a share w of is the divergence from a teacher's distribution at the temperature T, from logits z and the
// teacher's logits t (both capped already, where there are caps):
//   p = softmax(t / T)    r = softmax(z / T)    g = (1 - s) onehot(target) + s / V
//   loss = w T^2 (sum of p (log p - log r)) + (1 - w) (lse(z) - g.z)
//   d_logits = w T (r - p) + (1 - w) (softmax(z) - g)    times 1 - (z / cap)^2 with a cap
// losses: the loss, and lse(z) - z[target]. A negative target is ignored: loss 0, gradient 0.
struct DistilLoss {
  ConstView logits, teacher;  // master type [rows, vocabulary]
  ConstView targets;          // i32 [1, rows]
  double smoothing = 0.0, cap = 0.0;
  double temperature = 1.0, weight = 0.5;
  View losses;
  View d_logits;  // storage type, perhaps in the logits' memory; empty when no gradient is needed
};

// The loss of each row, summed over its columns, with targets t (master type, of the logits' shape):
//   sigmoid: log(1 + e^z) - t z    d_z = sigmoid(z) - t        squared: (z - t)^2 / 2    d_z = z - t
// Both columns of `losses` get it.
enum class LabelLossKind : uint8_t { sigmoid, squared };
struct LabelLoss {
  LabelLossKind kind = LabelLossKind::sigmoid;
  ConstView logits, targets;
  View losses, d_logits;
};

}  // namespace heed
