// The calls of a residual sum and its norm.
#pragma once

#include "kernels/calls/write.h"
#include "kernels/dropout.h"
#include "tensor/tensor.h"

namespace heed {

enum class NormKind : uint8_t { layer, rms };
// What a stored gain means: itself, or what it has above 1.
enum class NormGain : uint8_t { plain, plus_one };

// sum = residual + dropout(branch); normed = norm(sum) * gain + bias, or norm(sum) * (1 + gain) + bias.
// The stored (rounded) sum is what is normalized, so that backward reads the same values.
//   layer: (s - mean) / sqrt(variance + epsilon)    rms: s / sqrt(mean of squares + epsilon)
// Without a branch, the sum is the residual itself and `sum` is empty; without `normed`, only the sum is computed.
// `statistics` holds mean (0 for rms) and 1/deviation.
// A norm without a branch may be one of groups: each of a row's equal groups of columns, such as its heads, is
// normalized on its own, by the same gain and bias of a group's width; `statistics` has two columns for each group.
struct AddNormForward {
  NormKind kind = NormKind::layer;
  NormGain gain_form = NormGain::plain;
  int64_t groups = 1;
  ConstView residual, branch;
  Dropout dropout;
  ConstView gain, bias;
  double epsilon = 1e-5;
  View sum, normed, statistics;
};

// d_residual = d_sum + norm'(d_normed), d_branch = d_residual * dropout. `sum` is what was normalized. Either upstream
// gradient may be empty (zero). d_residual may be d_sum's memory. d_gain and d_bias are added to. For a sum
// without a norm, d_normed, statistics, gain, d_gain and d_bias are empty.
struct AddNormBackward {
  NormKind kind = NormKind::layer;
  NormGain gain_form = NormGain::plain;
  int64_t groups = 1;
  ConstView sum, statistics, gain;
  Dropout dropout;
  ConstView d_normed, d_sum;
  View d_residual;
  Write write_residual = Write::overwrite;
  View d_branch, d_gain, d_bias;
};

}  // namespace heed
