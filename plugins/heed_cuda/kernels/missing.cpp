// Calls that kernels are being written for.
#include "base/errors.h"
#include "heed_cuda/kernels/attention.h"
#include "heed_cuda/kernels/elementwise.h"
#include "heed_cuda/kernels/loss.h"
#include "heed_cuda/kernels/optimizer.h"
#include "heed_cuda/kernels/products.h"
#include "heed_cuda/kernels/recurrence.h"
#include "heed_cuda/kernels/rows.h"

namespace heed::cuda {
namespace {

[[noreturn]] void missing(const char* call) { fail<InternalError>("cuda", "{} has no kernel yet", call); }

}  // namespace

void append_key_values(Context& /*context*/, const KeyValueAppend& /*call*/) { missing("append_key_values"); }
void attention(Context& /*context*/, const AttentionForward& /*call*/) { missing("attention"); }
void attention_backward(Context& /*context*/, const AttentionBackward& /*call*/) { missing("attention_backward"); }
void spread_buckets(Context& /*context*/, const SpreadBuckets& /*call*/) { missing("spread_buckets"); }
void spread_buckets_backward(Context& /*context*/, const SpreadBucketsBackward& /*call*/) { missing("spread_buckets_backward"); }
void linear_attention(Context& /*context*/, const LinearAttentionForward& /*call*/) { missing("linear_attention"); }
void linear_attention_backward(Context& /*context*/, const LinearAttentionBackward& /*call*/) { missing("linear_attention_backward"); }
void fold_linear_attention(Context& /*context*/, const LinearAttentionFold& /*call*/) { missing("fold_linear_attention"); }
void ssru(Context& /*context*/, const SsruForward& /*call*/) { missing("ssru"); }
void ssru_backward(Context& /*context*/, const SsruBackward& /*call*/) { missing("ssru_backward"); }

}  // namespace heed::cuda
