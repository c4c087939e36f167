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
std::unique_ptr<PackedWeight> pack(Context& /*context*/, const Shape& /*shape*/, ProductTypes /*types*/, const RowSource& /*rows*/) { missing("pack"); }
std::unique_ptr<PackedWeight> pack(Context& /*context*/, const Int8Matrix& /*matrix*/) { missing("pack"); }
std::unique_ptr<PackedWeight> pack(Context& /*context*/, const Int4Matrix& /*matrix*/) { missing("pack"); }
std::unique_ptr<PackedWeight> pack(Context& /*context*/, const Int8Panels& /*panels*/) { missing("pack"); }
std::unique_ptr<PackedWeight> pack(Context& /*context*/, const Int4Panels& /*panels*/) { missing("pack"); }
std::unique_ptr<PackedWeight> pack(Context& /*context*/, const HalfPanels& /*panels*/, DType /*inputs*/) { missing("pack"); }
std::unique_ptr<PackedWeight> select_packed_rows(Context& /*context*/, const PackedWeight& /*matrix*/, std::span<const int32_t> /*rows*/) { missing("select_packed_rows"); }
std::unique_ptr<Products> Products::make(Queue& /*queue*/) { return std::make_unique<Products>(); }
void linear(Context& /*context*/, const LinearForward& /*call*/) { missing("linear"); }
void linear_input_gradient(Context& /*context*/, const LinearInputGradient& /*call*/) { missing("linear_input_gradient"); }
void linear_weight_gradient(Context& /*context*/, const LinearWeightGradient& /*call*/) { missing("linear_weight_gradient"); }

}  // namespace heed::cuda
