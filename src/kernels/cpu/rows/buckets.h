// Learned scores of buckets of distances, spread over the distances. Tables of a few thousand elements at most.
#pragma once

#include "kernels/calls/attention.h"

namespace heed::cpu {

void spread_buckets(const SpreadBuckets& call);
void spread_buckets_backward(const SpreadBucketsBackward& call);

}  // namespace heed::cpu
