// Linear attention on the CPU, in chunks of kLinearChunk tokens. With [V | 1] the values and a column of ones, and S
// the sums of phi(k) [v | 1]^T over all chunks before, the rows of a chunk are
//   [numerators | divisors] = phi(Q) S + tril(phi(Q) phi(K)^T) [V | 1]
// so a sequence costs as much for each token whatever its length, and neither a [queries, keys] matrix nor sums of each
// token are stored.
//
// A row gets the same bits whatever else is in the batch: chunks begin at multiples of kLinearChunk from key 0, and
// every sum runs over keys or columns in ascending order. So a cached step, whose states are sums of whole chunks,
// equals the last row of a full causal pass. Values of keys that a query does not see must be finite.
#pragma once

#include "kernels/calls/linear_attention.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void linear_attention(Context& context, const LinearAttentionForward& call);
void linear_attention_backward(Context& context, const LinearAttentionBackward& call);
void fold_linear_attention(Context& context, const LinearAttentionFold& call);

}  // namespace heed::cpu
