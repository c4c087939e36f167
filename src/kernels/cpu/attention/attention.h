// Attention on the CPU: tiles of queries against blocks of keys with a running softmax; no [queries, keys] matrix.
//
// A row of queries gets the same bits whatever else is in the batch: blocks of keys start at multiples of kKeyBlock
// from key 0, every sum runs over keys or columns in ascending order, and a key that a row does not see adds an exact
// zero. So a cached step equals the last row of a full causal pass, pages equal contiguous memory, and neither the
// batch nor the number of threads changes a result. Nothing outside of the operands is read; values of keys that a
// query does not see must be finite.
#pragma once

#include "kernels/calls/attention.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void append_key_values(Context& context, const KeyValueAppend& call);
void attention(Context& context, const AttentionForward& call);
void attention_backward(Context& context, const AttentionBackward& call);

}  // namespace heed::cpu
