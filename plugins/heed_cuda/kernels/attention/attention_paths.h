// Attention by the matrix units, in bf16: for calls that takes_tiles() names. The other way takes everything.
#pragma once

#include "heed_cuda/kernels/attention/attention_frame.h"

namespace heed::cuda {

// Decides by what does not depend on a batch's company.
bool takes_tiles(const AttentionSettings& settings, const ConstView& queries, const ConstKeyValueView& memory);

constexpr int kPieceOf = 8;  // elements of 16 bytes, which are read at once

// Whether rows, and heads of a multiple of 16 columns, begin where pieces do.
template <class... T>
bool in_pieces(const Matrix<T>&... matrices) {
  return ((reinterpret_cast<uintptr_t>(matrices.data) % 16 == 0 && matrices.stride % kPieceOf == 0) && ...);
}

struct AttentionRows {
  Matrix<const bf16> queries, keys, values;
  TokenRows tokens;
  Matrix<bf16> output;
  Matrix<float> log_sum_exp;
};
void attention_by_tiles(Context& context, const AttentionFrame& frame, const AttentionRows& rows);

// Deltas are the sums of d_output * output of each query and head.
struct AttentionGradients {
  Matrix<const bf16> queries, keys, values, d_output;
  Matrix<const float> log_sum_exp, deltas;
  Matrix<bf16> d_queries, d_keys, d_values;
};
void attention_backward_by_tiles(Context& context, const AttentionFrame& frame, const AttentionGradients& gradients);

}  // namespace heed::cuda
