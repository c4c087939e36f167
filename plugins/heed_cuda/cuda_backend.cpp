#include "heed_cuda/cuda_backend.h"

#include <utility>

#include "heed_cuda/context.h"
#include "heed_cuda/kernels/attention/attention.h"
#include "heed_cuda/kernels/elementwise/elementwise.h"
#include "heed_cuda/kernels/loss/loss.h"
#include "heed_cuda/kernels/optimizer/optimizer.h"
#include "heed_cuda/kernels/product/products.h"
#include "heed_cuda/kernels/recurrence/recurrence.h"
#include "heed_cuda/kernels/rows/rows.h"

namespace heed::cuda {
namespace {

// What a backend and its lanes share: one queue, so that each finds done what another asked for before, and the arena
// of what outlives a step, which may outlive the lane that kept it too.
struct SharedDevice {
  explicit SharedDevice(std::unique_ptr<Queue> of_device) : queue(std::move(of_device)), memory(*queue), kept(memory) {}
  std::unique_ptr<Queue> queue;
  DeviceMemory memory;
  Arena kept;
};

// The device is there before the arena of a backend, and after it.
struct OnDevice {
  std::shared_ptr<SharedDevice> device;
};

class CudaBackend final : OnDevice, public Backend {
 public:
  explicit CudaBackend(std::shared_ptr<SharedDevice> shared)
      : OnDevice{std::move(shared)}, Backend(OnDevice::device->memory), context_(*OnDevice::device->queue, arena()) {}

  std::string_view name() const override { return "cuda"; }
  Device device() const override { return Device::cuda; }
  std::string device_name() const override { return context_.queue.facts().name; }
  DType master_type() const override { return DType::f32; }
  bool supports(DType storage) const override { return storage == DType::f32 || storage == DType::bf16; }
  int threads() const override { return 1; }
  std::unique_ptr<Backend> make_lane() const override { return std::make_unique<CudaBackend>(OnDevice::device); }

  void wait() override { context_.queue.wait(); }

  Tensor keep(Shape shape, DType type) override {
    Tensor tensor(shape, type, OnDevice::device->kept);
    context_.queue.fill_bytes(device_address(tensor.view()), 0, tensor.bytes());
    return tensor;
  }

  std::unique_ptr<PackedWeight> pack(const Shape& shape, ProductTypes types, const RowSource& rows) override {
    return cuda::pack(context_, shape, types, rows);
  }
  std::unique_ptr<PackedWeight> pack(const Int8Matrix& matrix) override { return cuda::pack(context_, matrix); }
  std::unique_ptr<PackedWeight> pack(const Int4Matrix& matrix) override { return cuda::pack(context_, matrix); }
  std::unique_ptr<PackedWeight> pack(const Int8GroupMatrix& matrix, DType inputs) override {
    return cuda::pack(context_, matrix, inputs);
  }
  std::unique_ptr<PackedWeight> adopt(const Int8Panels& panels) override { return cuda::pack(context_, panels); }
  std::unique_ptr<PackedWeight> adopt(const Int4Panels& panels) override { return cuda::pack(context_, panels); }
  std::unique_ptr<PackedWeight> adopt(const Int8GroupPanels& panels, DType inputs) override {
    return cuda::pack(context_, panels, inputs);
  }
  std::unique_ptr<PackedWeight> adopt(const HalfPanels& panels, DType inputs) override {
    return cuda::pack(context_, panels, inputs);
  }
  std::unique_ptr<PackedWeight> select_packed_rows(const PackedWeight& matrix, std::span<const int32_t> rows) override {
    return cuda::select_packed_rows(context_, matrix, rows);
  }

  void fill(View x, double value) override { cuda::fill(context_, x, value); }
  void copy(ConstView from, View to) override { cuda::copy(context_, from, to); }
  void add(ConstView x, View into) override { cuda::add(context_, x, into); }
  void scale(View x, double factor) override { cuda::scale(context_, x, factor); }
  void blend(ConstView from, View into, double share) override { cuda::blend(context_, from, into, share); }
  void sum_parts(const SumParts& call) override { cuda::sum_parts(context_, call); }
  void activation_backward(const ActivationBackward& call) override { cuda::activation_backward(context_, call); }
  void gate(const GateForward& call) override { cuda::gate(context_, call); }
  void gate_backward(const GateBackward& call) override { cuda::gate_backward(context_, call); }
  void rotate(const Rotation& call) override { cuda::rotate(context_, call); }
  void drop(const Drop& call) override { cuda::drop(context_, call); }
  void soft_cap(const SoftCap& call) override { cuda::soft_cap(context_, call); }
  void soft_cap_backward(const SoftCapBackward& call) override { cuda::soft_cap_backward(context_, call); }
  void embedding(const EmbeddingForward& call) override { cuda::embedding(context_, call); }
  void embedding_backward(const EmbeddingBackward& call) override { cuda::embedding_backward(context_, call); }
  void select_rows(const SelectRows& call) override { cuda::select_rows(context_, call); }
  void select_rows_backward(const SelectRowsBackward& call) override { cuda::select_rows_backward(context_, call); }
  void pool(const PoolForward& call) override { cuda::pool(context_, call); }
  void pool_backward(const PoolBackward& call) override { cuda::pool_backward(context_, call); }
  void add_norm(const AddNormForward& call) override { cuda::add_norm(context_, call); }
  void add_norm_backward(const AddNormBackward& call) override { cuda::add_norm_backward(context_, call); }
  void output_loss(const OutputLoss& call) override { cuda::output_loss(context_, call); }
  void cross_entropy(const CrossEntropy& call) override { cuda::cross_entropy(context_, call); }
  void logit_sums(const LogitSums& call) override { cuda::logit_sums(context_, call); }
  void divided_loss(const DividedLoss& call) override { cuda::divided_loss(context_, call); }
  void label_loss(const LabelLoss& call) override { cuda::label_loss(context_, call); }
  void distil_loss(const DistilLoss& call) override { cuda::distil_loss(context_, call); }
  void log_softmax(ConstView logits, View log_probs) override { cuda::log_softmax(context_, logits, log_probs); }
  void selected_log_softmax(const SelectedLogSoftmax& call) override { cuda::selected_log_softmax(context_, call); }
  void average_probabilities(const AverageProbabilities& call) override { cuda::average_probabilities(context_, call); }
  void squared_norms(ConstView x, std::span<const ElementRange> ranges, View norms) override {
    cuda::squared_norms(context_, x, ranges, norms);
  }
  void sum(ConstView x, View total) override { cuda::sum(context_, x, total); }
  void adam(const AdamSweep& call) override { cuda::adam(context_, call); }
  void muon_direction(const MuonDirection& call) override { cuda::muon_direction(context_, call); }
  void muon_rows(const MuonRows& call) override { cuda::muon_rows(context_, call); }
  void muon_step(const MuonStep& call) override { cuda::muon_step(context_, call); }
  void append_key_values(const KeyValueAppend& call) override { cuda::append_key_values(context_, call); }
  void attention(const AttentionForward& call) override { cuda::attention(context_, call); }
  void attention_backward(const AttentionBackward& call) override { cuda::attention_backward(context_, call); }
  void spread_buckets(const SpreadBuckets& call) override { cuda::spread_buckets(context_, call); }
  void spread_buckets_backward(const SpreadBucketsBackward& call) override {
    cuda::spread_buckets_backward(context_, call);
  }
  void linear_attention(const LinearAttentionForward& call) override { cuda::linear_attention(context_, call); }
  void linear_attention_backward(const LinearAttentionBackward& call) override {
    cuda::linear_attention_backward(context_, call);
  }
  void fold_linear_attention(const LinearAttentionFold& call) override { cuda::fold_linear_attention(context_, call); }
  void ssru(const SsruForward& call) override { cuda::ssru(context_, call); }
  void ssru_backward(const SsruBackward& call) override { cuda::ssru_backward(context_, call); }
  void linear(const LinearForward& call) override { cuda::linear(context_, call); }
  void linear_input_gradient(const LinearInputGradient& call) override { cuda::linear_input_gradient(context_, call); }
  void linear_weight_gradient(const LinearWeightGradient& call) override {
    cuda::linear_weight_gradient(context_, call);
  }

 private:
  Context context_;
};

}  // namespace

std::unique_ptr<Backend> make_backend(int device) {
  return std::make_unique<CudaBackend>(std::make_shared<SharedDevice>(Queue::open(device)));
}

}  // namespace heed::cuda
