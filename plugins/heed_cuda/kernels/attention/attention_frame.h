// A call of attention, as its kernels take it.
#pragma once

#include "heed_cuda/kernels/attention/attention_pairs.cuh"
#include "heed_cuda/operands.h"

namespace heed::cuda {

AttentionFrame frame_of(Context& context, Operands& operands, const AttentionSettings& settings,
                        const Segments& queries, const ConstKeyValueView& memory);

TokenRows token_rows(Context& context, Operands& operands, const Segments& segments, const PageTable& table);

// Where each sequence's weights begin, and where all end.
const int64_t* weight_offsets(Context& context, int64_t heads, const Segments& queries, const Segments& keys);

inline Matrix<const float> to_read(const Matrix<float>& x) { return {x.data, x.rows, x.columns, x.stride}; }

template <class M>
CachedRows<M> cached_rows(Operands& operands, const ConstView& rows, const ConstView& scales) {
  return {operands.in<M>(rows), operands.in<float>(scales)};
}

}  // namespace heed::cuda
