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

void copy(Context& /*context*/, const ConstView& /*from*/, const View& /*to*/) { missing("copy"); }
void add(Context& /*context*/, const ConstView& /*x*/, const View& /*into*/) { missing("add"); }
void scale(Context& /*context*/, const View& /*x*/, double /*factor*/) { missing("scale"); }
void blend(Context& /*context*/, const ConstView& /*from*/, const View& /*into*/, double /*share*/) { missing("blend"); }
void sum_parts(Context& /*context*/, const SumParts& /*call*/) { missing("sum_parts"); }
void activation_backward(Context& /*context*/, const ActivationBackward& /*call*/) { missing("activation_backward"); }
void gate(Context& /*context*/, const GateForward& /*call*/) { missing("gate"); }
void gate_backward(Context& /*context*/, const GateBackward& /*call*/) { missing("gate_backward"); }
void rotate(Context& /*context*/, const Rotation& /*call*/) { missing("rotate"); }
void drop(Context& /*context*/, const Drop& /*call*/) { missing("drop"); }
void soft_cap(Context& /*context*/, const SoftCap& /*call*/) { missing("soft_cap"); }
void soft_cap_backward(Context& /*context*/, const SoftCapBackward& /*call*/) { missing("soft_cap_backward"); }
void embedding(Context& /*context*/, const EmbeddingForward& /*call*/) { missing("embedding"); }
void embedding_backward(Context& /*context*/, const EmbeddingBackward& /*call*/) { missing("embedding_backward"); }
void select_rows(Context& /*context*/, const SelectRows& /*call*/) { missing("select_rows"); }
void select_rows_backward(Context& /*context*/, const SelectRowsBackward& /*call*/) { missing("select_rows_backward"); }
void pool(Context& /*context*/, const PoolForward& /*call*/) { missing("pool"); }
void pool_backward(Context& /*context*/, const PoolBackward& /*call*/) { missing("pool_backward"); }
void add_norm(Context& /*context*/, const AddNormForward& /*call*/) { missing("add_norm"); }
void add_norm_backward(Context& /*context*/, const AddNormBackward& /*call*/) { missing("add_norm_backward"); }
void output_loss(Context& /*context*/, const OutputLoss& /*call*/) { missing("output_loss"); }
void cross_entropy(Context& /*context*/, const CrossEntropy& /*call*/) { missing("cross_entropy"); }
void logit_sums(Context& /*context*/, const LogitSums& /*call*/) { missing("logit_sums"); }
void divided_loss(Context& /*context*/, const DividedLoss& /*call*/) { missing("divided_loss"); }
void label_loss(Context& /*context*/, const LabelLoss& /*call*/) { missing("label_loss"); }
void log_softmax(Context& /*context*/, const ConstView& /*logits*/, const View& /*log_probs*/) { missing("log_softmax"); }
void selected_log_softmax(Context& /*context*/, const SelectedLogSoftmax& /*call*/) { missing("selected_log_softmax"); }
void average_probabilities(Context& /*context*/, const AverageProbabilities& /*call*/) { missing("average_probabilities"); }
void squared_norms(Context& /*context*/, const ConstView& /*x*/, std::span<const ElementRange> /*ranges*/, const View& /*norms*/) { missing("squared_norms"); }
void sum(Context& /*context*/, const ConstView& /*x*/, const View& /*total*/) { missing("sum"); }
void adam(Context& /*context*/, const AdamSweep& /*call*/) { missing("adam"); }
void muon_direction(Context& /*context*/, const MuonDirection& /*call*/) { missing("muon_direction"); }
void muon_step(Context& /*context*/, const MuonStep& /*call*/) { missing("muon_step"); }
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
