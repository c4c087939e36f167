#include "kernels/cpu/cpu_backend.h"

#include <fmt/format.h>

#include <vector>

#include "kernels/arithmetic.h"
#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/attention/rotation.h"
#include "kernels/cpu/elementwise/drop.h"
#include "kernels/cpu/elementwise/elements.h"
#include "kernels/cpu/elementwise/gate.h"
#include "kernels/cpu/elementwise/soft_cap.h"
#include "kernels/cpu/linear_attention/linear_attention.h"
#include "kernels/cpu/loss/distil_loss.h"
#include "kernels/cpu/loss/divided_loss.h"
#include "kernels/cpu/loss/label_loss.h"
#include "kernels/cpu/loss/loss.h"
#include "kernels/cpu/machine/context.h"
#include "kernels/cpu/machine/instruction_sets.h"
#include "kernels/cpu/optimizer/adam.h"
#include "kernels/cpu/optimizer/muon.h"
#include "kernels/cpu/product/linear.h"
#include "kernels/cpu/product/packed_weight.h"
#include "kernels/cpu/recurrence/ssru.h"
#include "kernels/cpu/rows/average_probabilities.h"
#include "kernels/cpu/rows/buckets.h"
#include "kernels/cpu/rows/embedding.h"
#include "kernels/cpu/rows/norm.h"
#include "kernels/cpu/rows/pool.h"
#include "kernels/cpu/rows/select_rows.h"
#include "kernels/cpu/rows/sum_parts.h"

namespace heed {
namespace {

class CpuBackend final : public Backend, public ProcessorArithmetic {
 public:
  CpuBackend(int threads, cpu::Bf16Products products) : context_(threads), products_(products) {}

  std::string_view name() const override { return "cpu"; }
  Device device() const override { return Device::cpu; }
  std::string arithmetic(DType storage) const override {
    const bool pairs = storage == DType::bf16 && products_ == cpu::Bf16Products::pairs;
    return fmt::format("{}{}", cpu::vector_instruction_set(), pairs ? " with bf16 pairs" : "");
  }
  DType master_type() const override { return DType::f32; }
  bool supports(DType storage) const override { return storage == DType::f32 || storage == DType::bf16; }
  int threads() const override { return context_.pool.size(); }
  void use_threads(int most) override { context_.pool.use_threads(most); }
  std::unique_ptr<Backend> make_lane() const override { return std::make_unique<CpuBackend>(1, products_); }
  void run_on_lanes(int64_t tasks, const LaneBody& body) override {
    if (threads() == 1) {
      return Backend::run_on_lanes(tasks, body);
    }
    while (static_cast<int>(lanes_.size()) < threads()) {
      lanes_.push_back(make_lane());
    }
    context_.pool.run(tasks, [&](int64_t task, int worker) { body(task, *lanes_[static_cast<size_t>(worker)]); });
  }

  std::unique_ptr<PackedWeight> pack(const Shape& shape, ProductTypes types, const RowSource& rows) override {
    return std::make_unique<cpu::PackedPanels>(context_, panel_memory(), shape, types, rows, products_);
  }
  std::unique_ptr<PackedWeight> pack(const Int8Matrix& matrix) override {
    return std::make_unique<cpu::PackedInt8>(context_, panel_memory(), matrix);
  }
  std::unique_ptr<PackedWeight> pack(const Int8GroupMatrix& matrix, DType /*inputs*/) override {
    return std::make_unique<cpu::PackedInt8Groups>(context_, panel_memory(), matrix);
  }
  std::unique_ptr<PackedWeight> pack(const Int4Matrix& matrix) override {
    return std::make_unique<cpu::PackedInt4>(context_, panel_memory(), matrix);
  }
  std::unique_ptr<PackedWeight> adopt(const Int8Panels& panels) override {
    return std::make_unique<cpu::PackedInt8>(panels);
  }
  std::unique_ptr<PackedWeight> adopt(const Int8GroupPanels& panels, DType /*inputs*/) override {
    return std::make_unique<cpu::PackedInt8Groups>(panels);
  }
  std::unique_ptr<PackedWeight> adopt(const Int4Panels& panels) override {
    return std::make_unique<cpu::PackedInt4>(panels);
  }
  std::unique_ptr<PackedWeight> adopt(const HalfPanels& panels, DType inputs) override {
    return std::make_unique<cpu::PackedPanels>(panels, inputs, products_);
  }
  std::unique_ptr<PackedWeight> select_packed_rows(const PackedWeight& matrix, std::span<const int32_t> rows) override {
    return static_cast<const cpu::CpuWeight&>(matrix).select_rows(context_, panel_memory(), rows);
  }

  void fill(View x, double value) override { cpu::fill(context_, x, value); }
  void copy(ConstView from, View to) override { cpu::copy(context_, from, to); }
  void add(ConstView x, View into) override { cpu::add(context_, x, into); }
  void scale(View x, double factor) override { cpu::scale(context_, x, factor); }
  void blend(ConstView from, View into, double share) override { cpu::blend(context_, from, into, share); }
  void sum_parts(const SumParts& call) override { cpu::sum_parts(context_, call); }

  void linear(const LinearForward& call) override { cpu::linear(context_, products_, call); }
  void activation_backward(const ActivationBackward& call) override { cpu::activation_backward(context_, call); }
  void linear_input_gradient(const LinearInputGradient& call) override {
    cpu::linear_input_gradient(context_, products_, call);
  }
  void linear_weight_gradient(const LinearWeightGradient& call) override {
    cpu::linear_weight_gradient(context_, products_, call);
  }

  void embedding(const EmbeddingForward& call) override { cpu::embedding(context_, call); }
  void embedding_backward(const EmbeddingBackward& call) override { cpu::embedding_backward(context_, call); }

  void select_rows(const SelectRows& call) override { cpu::select_rows(context_, call); }
  void select_rows_backward(const SelectRowsBackward& call) override { cpu::select_rows_backward(context_, call); }

  void pool(const PoolForward& call) override { cpu::pool(context_, call); }
  void pool_backward(const PoolBackward& call) override { cpu::pool_backward(context_, call); }

  void add_norm(const AddNormForward& call) override { cpu::add_norm(context_, call); }
  void add_norm_backward(const AddNormBackward& call) override { cpu::add_norm_backward(context_, call); }

  void gate(const GateForward& call) override { cpu::gate(context_, call); }
  void gate_backward(const GateBackward& call) override { cpu::gate_backward(context_, call); }

  void rotate(const Rotation& call) override { cpu::rotate(context_, call); }
  void drop(const Drop& call) override { cpu::drop(context_, call); }
  void soft_cap(const SoftCap& call) override { cpu::soft_cap(context_, call); }
  void soft_cap_backward(const SoftCapBackward& call) override { cpu::soft_cap_backward(context_, call); }
  void append_key_values(const KeyValueAppend& call) override { cpu::append_key_values(context_, call); }
  void attention(const AttentionForward& call) override { cpu::attention(context_, call); }
  void attention_backward(const AttentionBackward& call) override { cpu::attention_backward(context_, call); }
  void linear_attention(const LinearAttentionForward& call) override { cpu::linear_attention(context_, call); }
  void linear_attention_backward(const LinearAttentionBackward& call) override {
    cpu::linear_attention_backward(context_, call);
  }
  void fold_linear_attention(const LinearAttentionFold& call) override { cpu::fold_linear_attention(context_, call); }
  void ssru(const SsruForward& call) override { cpu::ssru(context_, call); }
  void ssru_backward(const SsruBackward& call) override { cpu::ssru_backward(context_, call); }
  void spread_buckets(const SpreadBuckets& call) override { cpu::spread_buckets(call); }
  void spread_buckets_backward(const SpreadBucketsBackward& call) override { cpu::spread_buckets_backward(call); }

  void output_loss(const OutputLoss& call) override { cpu::output_loss(context_, products_, call); }
  void cross_entropy(const CrossEntropy& call) override { cpu::cross_entropy(context_, call); }
  void logit_sums(const LogitSums& call) override { cpu::logit_sums(context_, call); }
  void divided_loss(const DividedLoss& call) override { cpu::divided_loss(context_, call); }
  void label_loss(const LabelLoss& call) override { cpu::label_loss(call); }
  void distil_loss(const DistilLoss& call) override { cpu::distil_loss(context_, call); }
  void log_softmax(ConstView logits, View log_probs) override { cpu::log_softmax(context_, logits, log_probs); }
  void selected_log_softmax(const SelectedLogSoftmax& call) override { cpu::selected_log_softmax(context_, call); }
  void average_probabilities(const AverageProbabilities& call) override { cpu::average_probabilities(context_, call); }

  void squared_norms(ConstView x, std::span<const ElementRange> ranges, View norms) override {
    cpu::squared_norms(context_, x, ranges, norms);
  }
  void sum(ConstView x, View total) override { cpu::sum(x, total); }
  void adam(const AdamSweep& call) override { cpu::adam(context_, call); }
  void muon_direction(const MuonDirection& call) override { cpu::muon_direction(context_, call); }
  void muon_rows(const MuonRows& call) override { cpu::muon_rows(context_, call); }
  void muon_step(const MuonStep& call) override { cpu::muon_step(context_, call); }

 private:
  cpu::PanelMemory& panel_memory() {
    if (panel_memory_ == nullptr) {  // most lanes pack nothing, and should not reserve any memory
      panel_memory_ = std::make_shared<cpu::PanelMemory>();
    }
    return *panel_memory_;
  }

  cpu::Context context_;
  cpu::Bf16Products products_;
  std::shared_ptr<cpu::PanelMemory> panel_memory_;  // with the first weight that is packed
  std::vector<std::unique_ptr<Backend>> lanes_;     // one for each worker, from the first use on
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return make_cpu_backend(available_processors()); }

std::unique_ptr<Backend> make_cpu_backend(int threads) {
  return make_cpu_backend(threads, cpu::fastest_bf16_products());
}

std::unique_ptr<Backend> make_cpu_backend(int threads, cpu::Bf16Products products) {
  require<ConfigError>(!cpu::best_instruction_set().empty(), "cpu",
                       "the kernels need at least SSE4.2 and AES instructions, which this processor lacks");
  require<ConfigError>(products != cpu::Bf16Products::pairs || cpu::has_bf16_pairs(), "cpu",
                       "this processor has no instruction for pairs of bf16");
  return std::make_unique<CpuBackend>(threads, products);
}

}  // namespace heed
