// The oracle: every op written like its formula, in double, one element after the other. Slow on purpose; the fast
// kernels are tested against it, and its own backward against finite differences.
#pragma once

#include <memory>

#include "kernels/calls/attention.h"
#include "kernels/calls/elements.h"
#include "kernels/calls/linear.h"
#include "kernels/calls/linear_attention.h"
#include "kernels/calls/loss.h"
#include "kernels/calls/norm.h"
#include "kernels/calls/optimizer.h"
#include "kernels/calls/rows.h"
#include "kernels/kernels.h"

namespace heed {

// Operands may be of any floating types, also mixed: each is read as double, and each result is rounded once,
// when it is written. All operands of a call are read before its first result is written.
class ReferenceBackend final : public Backend {
 public:
  explicit ReferenceBackend(DType master = DType::f64) : master_(master) {}

  std::string_view name() const override { return "reference"; }
  Device device() const override { return Device::cpu; }
  DType master_type() const override { return master_; }
  bool supports(DType storage) const override;
  int threads() const override { return 1; }
  std::unique_ptr<Backend> make_lane() const override { return std::make_unique<ReferenceBackend>(master_); }

  // There is no faster form here: the result holds the plain matrix.
  std::unique_ptr<PackedWeight> pack(const Shape& shape, ProductTypes types, const RowSource& rows) override;
  std::unique_ptr<PackedWeight> pack(const Int8Matrix& matrix) override;
  std::unique_ptr<PackedWeight> pack(const Int8GroupMatrix& matrix, DType /*inputs*/) override;
  std::unique_ptr<PackedWeight> pack(const Int4Matrix& matrix) override;
  std::unique_ptr<PackedWeight> adopt(const Int8Panels& panels) override;
  std::unique_ptr<PackedWeight> adopt(const Int8GroupPanels& panels, DType /*inputs*/) override;
  std::unique_ptr<PackedWeight> adopt(const Int4Panels& panels) override;
  std::unique_ptr<PackedWeight> adopt(const HalfPanels& panels, DType inputs) override;
  std::unique_ptr<PackedWeight> select_packed_rows(const PackedWeight& matrix, std::span<const int32_t> rows) override;

  void fill(View x, double value) override;
  void copy(ConstView from, View to) override;
  void add(ConstView x, View into) override;
  void scale(View x, double factor) override;
  void blend(ConstView from, View into, double share) override;
  void sum_parts(const SumParts& call) override;

  void linear(const LinearForward& call) override;
  void activation_backward(const ActivationBackward& call) override;
  void linear_input_gradient(const LinearInputGradient& call) override;
  void linear_weight_gradient(const LinearWeightGradient& call) override;

  void embedding(const EmbeddingForward& call) override;
  void embedding_backward(const EmbeddingBackward& call) override;

  void select_rows(const SelectRows& call) override;
  void select_rows_backward(const SelectRowsBackward& call) override;
  void pool(const PoolForward& call) override;
  void pool_backward(const PoolBackward& call) override;

  void add_norm(const AddNormForward& call) override;
  void add_norm_backward(const AddNormBackward& call) override;

  void gate(const GateForward& call) override;
  void gate_backward(const GateBackward& call) override;

  void rotate(const Rotation& call) override;
  void drop(const Drop& call) override;
  void soft_cap(const SoftCap& call) override;
  void soft_cap_backward(const SoftCapBackward& call) override;
  void append_key_values(const KeyValueAppend& call) override;
  void attention(const AttentionForward& call) override;
  void attention_backward(const AttentionBackward& call) override;
  void linear_attention(const LinearAttentionForward& call) override;
  void linear_attention_backward(const LinearAttentionBackward& call) override;
  void fold_linear_attention(const LinearAttentionFold& call) override;
  void ssru(const SsruForward& call) override;
  void ssru_backward(const SsruBackward& call) override;
  void spread_buckets(const SpreadBuckets& call) override;
  void spread_buckets_backward(const SpreadBucketsBackward& call) override;

  void output_loss(const OutputLoss& call) override;
  void cross_entropy(const CrossEntropy& call) override;
  void logit_sums(const LogitSums& call) override;
  void divided_loss(const DividedLoss& call) override;
  void label_loss(const LabelLoss& call) override;
  void distil_loss(const DistilLoss& call) override;
  void log_softmax(ConstView logits, View log_probs) override;
  void selected_log_softmax(const SelectedLogSoftmax& call) override;
  void average_probabilities(const AverageProbabilities& call) override;

  void squared_norms(ConstView x, std::span<const ElementRange> ranges, View norms) override;
  void sum(ConstView x, View total) override;
  void adam(const AdamSweep& call) override;
  void muon_direction(const MuonDirection& call) override;
  void muon_rows(const MuonRows& call) override;
  void muon_step(const MuonStep& call) override;

 private:
  DType master_;
};

std::unique_ptr<Backend> make_reference_backend(DType master = DType::f64);

}  // namespace heed
