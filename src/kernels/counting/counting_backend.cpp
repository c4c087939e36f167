#include "kernels/counting/counting_backend.h"

#include <algorithm>

#include "kernels/calls/attention.h"
#include "kernels/calls/elements.h"
#include "kernels/calls/linear.h"
#include "kernels/calls/linear_attention.h"
#include "kernels/calls/loss.h"
#include "kernels/calls/norm.h"
#include "kernels/calls/optimizer.h"
#include "kernels/calls/rows.h"
#include "kernels/calls/ssru.h"

namespace heed {
namespace {

// A packed matrix that only knows its size.
class SizedWeight final : public PackedWeight {
 public:
  SizedWeight(int64_t rows, int64_t columns, int64_t bytes) : PackedWeight(rows, columns), bytes_(bytes) {}
  int64_t bytes() const override { return bytes_; }

 private:
  int64_t bytes_;
};

std::unique_ptr<PackedWeight> packed(const Shape& shape, int64_t bytes) {
  return std::make_unique<SizedWeight>(shape.rows(), shape.columns(), bytes);
}

// Values of one or half a byte, with a scale for each row or for each group of columns.
int64_t int8_bytes(const Shape& shape) { return shape.elements() + shape.rows() * size_of(DType::f32); }
int64_t int8_group_bytes(const Shape& shape) {
  return shape.elements() + shape.elements() / kInt8Group * static_cast<int64_t>(sizeof(uint16_t));
}
int64_t int4_bytes(const Shape& shape, int64_t group) {
  return shape.elements() / 2 + shape.elements() / group * size_of(DType::bf16);
}

// Addresses that no processor maps, so that touching them by mistake does not go unnoticed.
constexpr uintptr_t kFirstAddress = uintptr_t{1} << 62;

class NumberlessBackend final : public Backend {
 public:
  NumberlessBackend() : Backend(Backing::none) {}

  std::string_view name() const override { return "counting"; }
  Device device() const override { return Device::cpu; }
  DType master_type() const override { return DType::f32; }
  bool supports(DType storage) const override { return storage == DType::f32 || storage == DType::bf16; }
  int threads() const override { return 1; }
  std::unique_ptr<Backend> make_lane() const override { return std::make_unique<NumberlessBackend>(); }

  Tensor keep(Shape shape, DType type) override {
    const uintptr_t address = next_;
    next_ += static_cast<uintptr_t>(shape.elements() * size_of(type) + 1);
    return Tensor::at(reinterpret_cast<void*>(address), shape, type);  // NOLINT(performance-no-int-to-ptr)
  }

  std::unique_ptr<PackedWeight> pack(const Shape& shape, ProductTypes types, const RowSource& /*rows*/) override {
    return packed(shape, shape.elements() * size_of(types.weights));
  }
  std::unique_ptr<PackedWeight> pack(const Int8Matrix& matrix) override {
    return packed(matrix.shape, int8_bytes(matrix.shape));
  }
  std::unique_ptr<PackedWeight> pack(const Int8GroupMatrix& matrix, DType /*inputs*/) override {
    return packed(matrix.shape, int8_group_bytes(matrix.shape));
  }
  std::unique_ptr<PackedWeight> pack(const Int4Matrix& matrix) override {
    return packed(matrix.shape, int4_bytes(matrix.shape, kInt4Group));
  }
  std::unique_ptr<PackedWeight> adopt(const Int8Panels& panels) override {
    return packed(panels.shape, int8_bytes(panels.shape));
  }
  std::unique_ptr<PackedWeight> adopt(const Int8GroupPanels& panels, DType /*inputs*/) override {
    return packed(panels.shape, int8_group_bytes(panels.shape));
  }
  std::unique_ptr<PackedWeight> adopt(const Int4Panels& panels) override {
    return packed(panels.shape, int4_bytes(panels.shape, panels.group));
  }
  std::unique_ptr<PackedWeight> adopt(const HalfPanels& panels, DType /*inputs*/) override {
    return packed(panels.shape, panels.shape.elements() * size_of(DType::bf16));
  }
  std::unique_ptr<PackedWeight> select_packed_rows(const PackedWeight& matrix, std::span<const int32_t> rows) override {
    const auto count = static_cast<int64_t>(rows.size());
    return packed({count, matrix.columns()}, matrix.bytes() / std::max<int64_t>(1, matrix.rows()) * count);
  }

  void fill(View /*x*/, double /*value*/) override {}
  void copy(ConstView /*from*/, View /*to*/) override {}
  void add(ConstView /*x*/, View /*into*/) override {}
  void scale(View /*x*/, double /*factor*/) override {}
  void blend(ConstView /*from*/, View /*into*/, double /*share*/) override {}
  void sum_parts(const SumParts& /*call*/) override {}
  void linear(const LinearForward& /*call*/) override {}
  void activation_backward(const ActivationBackward& /*call*/) override {}
  void linear_input_gradient(const LinearInputGradient& /*call*/) override {}
  void linear_weight_gradient(const LinearWeightGradient& /*call*/) override {}
  void embedding(const EmbeddingForward& /*call*/) override {}
  void embedding_backward(const EmbeddingBackward& /*call*/) override {}
  void select_rows(const SelectRows& /*call*/) override {}
  void select_rows_backward(const SelectRowsBackward& /*call*/) override {}
  void pool(const PoolForward& /*call*/) override {}
  void pool_backward(const PoolBackward& /*call*/) override {}
  void add_norm(const AddNormForward& /*call*/) override {}
  void add_norm_backward(const AddNormBackward& /*call*/) override {}
  void gate(const GateForward& /*call*/) override {}
  void gate_backward(const GateBackward& /*call*/) override {}
  void rotate(const Rotation& /*call*/) override {}
  void drop(const Drop& /*call*/) override {}
  void soft_cap(const SoftCap& /*call*/) override {}
  void soft_cap_backward(const SoftCapBackward& /*call*/) override {}
  void append_key_values(const KeyValueAppend& /*call*/) override {}
  void attention(const AttentionForward& /*call*/) override {}
  void attention_backward(const AttentionBackward& /*call*/) override {}
  void linear_attention(const LinearAttentionForward& /*call*/) override {}
  void linear_attention_backward(const LinearAttentionBackward& /*call*/) override {}
  void fold_linear_attention(const LinearAttentionFold& /*call*/) override {}
  void ssru(const SsruForward& /*call*/) override {}
  void ssru_backward(const SsruBackward& /*call*/) override {}
  void spread_buckets(const SpreadBuckets& /*call*/) override {}
  void spread_buckets_backward(const SpreadBucketsBackward& /*call*/) override {}
  void output_loss(const OutputLoss& /*call*/) override {}
  void cross_entropy(const CrossEntropy& /*call*/) override {}
  void logit_sums(const LogitSums& /*call*/) override {}
  void divided_loss(const DividedLoss& /*call*/) override {}
  void label_loss(const LabelLoss& /*call*/) override {}
  void distil_loss(const DistilLoss& /*call*/) override {}
  void log_softmax(ConstView /*logits*/, View /*log_probs*/) override {}
  void selected_log_softmax(const SelectedLogSoftmax& /*call*/) override {}
  void average_probabilities(const AverageProbabilities& /*call*/) override {}
  void squared_norms(ConstView /*x*/, std::span<const ElementRange> /*ranges*/, View /*norms*/) override {}
  void sum(ConstView /*x*/, View /*total*/) override {}
  void adam(const AdamSweep& /*call*/) override {}
  void muon_direction(const MuonDirection& /*call*/) override {}
  void muon_rows(const MuonRows& /*call*/) override {}
  void muon_step(const MuonStep& /*call*/) override {}

 private:
  uintptr_t next_ = kFirstAddress;
};

}  // namespace

std::unique_ptr<Backend> make_counting_backend(Profile& profile) {
  return make_profiled_backend(std::make_unique<NumberlessBackend>(), profile);
}

}  // namespace heed
