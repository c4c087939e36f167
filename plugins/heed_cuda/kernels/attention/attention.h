// Calls of attention, and of the cache that it reads.
#pragma once

#include "heed_cuda/context.h"
#include "kernels/calls/attention.h"

namespace heed::cuda {

void append_key_values(Context& context, const KeyValueAppend& call);
void attention(Context& context, const AttentionForward& call);
void attention_backward(Context& context, const AttentionBackward& call);
void spread_buckets(Context& context, const SpreadBuckets& call);
void spread_buckets_backward(Context& context, const SpreadBucketsBackward& call);

}  // namespace heed::cuda
