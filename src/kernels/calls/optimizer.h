// The calls of optimizers.
#pragma once

#include <span>

#include "tensor/tensor.h"

namespace heed {

// Added to the gradient (Adam), or to the step (AdamW); cautious: to the step where both go the same way, so that decay
// never works against what the gradients ask for.
enum class WeightDecay : uint8_t { coupled, decoupled, cautious };

// Elements [first, first + count) of flat memory, and whether weight decay shrinks them.
enum class Decays : uint8_t { no, yes };
struct ElementRange {
  int64_t first, count;
  Decays decays = Decays::yes;
};

// One sweep over flat parameters: clip by the global norm, Adam with decay of either kind, update of the storage copy.
//   g = gradient * min(1, max_norm / (norm + 1e-6))          coupled: g += decay * w
//   m = b1 m + (1 - b1) g    v = b2 v + (1 - b2) g^2         decoupled: w -= rate * decay * w
//   w -= rate * m / (1 - b1^n) / (sqrt(v / (1 - b2^n)) + epsilon)          n: updates applied, this one included
// Cautious: decoupled where m w >= 0, with the new m and the old w; no decay elsewhere.
// When the norm is not finite, nothing changes, and the update is not counted.
struct AdamSweep {
  View weights;  // master type [1, n], as are the next three
  ConstView gradients;
  View first_moments, second_moments;
  View copy;                             // bf16 [1, n], or empty
  ConstView squared_norm;                // f64 [1, 1]: of all gradients
  View applied;                          // f64 [1, 1]: updates so far; counts this one
  std::span<const ElementRange> ranges;  // the elements to update
  double learning_rate = 0.0, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double max_norm = 0.0;  // 0: no clipping
  WeightDecay decay_kind = WeightDecay::decoupled;
  double weight_decay = 0.0;
};

// The first part of Muon's update of one matrix: Nesterov momentum, scaled to norm 1 for the orthogonalization that
// follows.
//   g = gradient * min(1, max_norm / (norm + 1e-6))    m = momentum m + g    u = g + momentum m    direction = u / |u|
// When the gradients' norm is not finite, m does not change, and the direction is zero. It is zero also when u is.
struct MuonDirection {
  ConstView gradients;     // master type [out, in]
  View moments;            // the same
  ConstView squared_norm;  // f64 [1, 1]: of all gradients
  double momentum = 0.95, max_norm = 0.0;
  View direction;  // storage or master type [out, in]
};

constexpr double kMuonRowEpsilon = 1e-8;

// Between the two, perhaps: what the rows d[r] of an orthogonal direction are multiplied by, so that rows that have been
// large for a while become smaller, and the whole keeps its norm.
//   v[r] = kept v[r] + (1 - kept) mean of d[r]^2    e[r] = d[r] / (sqrt(v[r]) + epsilon)
//   factor[r] = |d| / |e| / (sqrt(v[r]) + epsilon)
// When the norm is not finite, v does not change. Factors are 0 where the direction is.
struct MuonRows {
  ConstView direction;     // storage or master type [out, in]
  View moments;            // v, master type [1, out]
  ConstView squared_norm;  // f64 [1, 1]: of all gradients
  double kept = 0.95;
  View factors;  // master type [1, out]
};

// The last part: w -= rate * (scale * factor of the row * direction + decay * w), with cautious decay only where
// direction * w >= 0. When the norm is not finite, nothing changes.
struct MuonStep {
  View weights;            // master type [out, in]
  View copy;               // bf16 [out, in], or empty
  ConstView direction;     // storage or master type [out, in]
  ConstView row_factors;   // master type [1, out]; empty: 1
  ConstView squared_norm;  // f64 [1, 1]
  double learning_rate = 0.0, scale = 1.0, weight_decay = 0.0;
  WeightDecay decay_kind = WeightDecay::decoupled;  // or cautious
};

}  // namespace heed
