// For each sequence and head, without a softmax: sum of (phi(q) . phi(k)) v / sum of phi(q) . phi(k) over the visible
// keys, with phi(x) = elu(x) + 1 (Katharopoulos et al., 2020) or e^x. Its cost is linear in the sequence's length.
#pragma once

#include "kernels/calls/linear_attention.h"
#include "ops/attention/attention.h"

namespace heed {

struct LinearAttentionOptions {
  int64_t heads = 1, key_value_heads = 1;
  Visibility::Reach reach = Visibility::Reach::full;
  LinearFeature feature = LinearFeature::elu;
  Tensor* weights = nullptr;  // if set, receives each pair's share of a row; see LinearAttentionForward
};

// Queries, keys and values of the same tokens. The segments must outlive the tape.
Var linear_attention(Pass& pass, const AttentionInputs& inputs, const LinearAttentionOptions& options);
// Keys and values from a cache; for inference.
Var linear_attention(Pass& pass, const Columns& queries, const Segments& segments, const ConstKeyValueView& memory,
                     const LinearAttentionOptions& options);

struct LinearAttentionOp {
  AttentionInputs inputs;
  LinearAttentionSettings settings;
  Var output;
  Tensor divisors;

  void backward(Backend& backend);
};

}  // namespace heed
