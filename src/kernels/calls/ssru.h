// The calls of the simpler simple recurrent unit.
#pragma once

#include "kernels/calls/key_values.h"

namespace heed {

// For each sequence and column, from the first token to the last, with c = 0 before the first:
//   f[t] = sigmoid(gates[t] + bias)    c[t] = f[t] c[t-1] + (1 - f[t]) candidates[t]    output[t] = max(c[t], 0)
// In a storage type narrower than f32, c[t] is the sum of two numbers of that type: itself rounded, and the rest
// rounded. With a memory, whose segments include the new tokens, the cell of the token before these is read from there,
// and theirs are written: keys hold c rounded, values the rest. Without one, all sequences begin here.
struct SsruForward {
  ConstView gates, candidates;         // [rows, width]
  ConstView bias;                      // master type [1, width], or empty
  const Segments* segments = nullptr;  // of the rows
  KeyValueView memory = {};            // in the storage type; keys empty: none
  View output;
  View cells;  // if requested: c, master type [rows, width]
};

// With d_c[t] = d_output[t] where c[t] > 0, else 0, + f[t+1] d_c[t+1]:
//   d_gates[t] = d_c[t] (c[t-1] - candidates[t]) f[t] (1 - f[t])    d_candidates[t] = d_c[t] (1 - f[t])
// Both are overwritten. All sequences begin here.
struct SsruBackward {
  ConstView gates, candidates, bias;
  const Segments* segments = nullptr;
  ConstView cells, d_output;
  View d_gates, d_candidates;
};

}  // namespace heed
