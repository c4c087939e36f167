// The backend interface: one virtual per fused op, forward and backward. The argument of each is a plain struct of its
// operands; calls/ has these structs, with the formulas. Views borrow; an empty view is a missing operand. Shapes are
// checked once, by the ops above; kernels trust them.
//
// Element types: `storage` (f32, bf16; f64 in the reference backend) for activations and matrices; weights' masters,
// biases, norm gains, gradients of weights, statistics and losses in `master_type()` (f32; f64 in the reference).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "kernels/calls/weight.h"
#include "kernels/half_panels.h"
#include "kernels/integer_panels.h"
#include "tensor/arena.h"

namespace heed {

// calls/linear.h
struct LinearForward;
struct LinearInputGradient;
struct LinearWeightGradient;
// calls/activation.h
struct ActivationBackward;
struct GateForward;
struct GateBackward;
// calls/rows.h
struct EmbeddingForward;
struct EmbeddingBackward;
struct SelectRows;
struct SelectRowsBackward;
struct PoolForward;
struct PoolBackward;
// calls/norm.h
struct AddNormForward;
struct AddNormBackward;
// calls/elements.h
struct SumParts;
struct Rotation;
struct Drop;
struct SoftCap;
struct SoftCapBackward;
// calls/key_values.h
struct KeyValueAppend;
// calls/attention.h
struct AttentionForward;
struct AttentionBackward;
struct SpreadBuckets;
struct SpreadBucketsBackward;
// calls/linear_attention.h
struct LinearAttentionForward;
struct LinearAttentionBackward;
struct LinearAttentionFold;
// calls/ssru.h
struct SsruForward;
struct SsruBackward;
// calls/loss.h
struct OutputLoss;
struct CrossEntropy;
struct SelectedLogSoftmax;
struct AverageProbabilities;
struct LogitSums;
struct DividedLoss;
struct LabelLoss;
struct DistilLoss;
// calls/optimizer.h
struct ElementRange;
struct AdamSweep;
struct MuonDirection;
struct MuonRows;
struct MuonStep;

class Backend {
 public:
  explicit Backend(Backing arena = Backing::memory)
      : own_arena_(std::make_unique<Arena>(arena)), arena_(own_arena_.get()) {}
  explicit Backend(MemorySource& source) : own_arena_(std::make_unique<Arena>(source)), arena_(own_arena_.get()) {}
  // Shares the memory of `before`: for a backend that wraps another one.
  explicit Backend(Backend& before) : arena_(before.arena_) {}
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;
  virtual Device device() const = 0;
  virtual std::string device_name() const { return {}; }  // empty for the processor
  virtual DType master_type() const = 0;
  virtual bool supports(DType storage) const = 0;  // asked when a model is built
  virtual int threads() const = 0;
  // From now on at most so many of its threads compute, at least 1, so that others can use their processors. Results do
  // not depend on it.
  virtual void use_threads(int /*most*/) {}

  // A backend to be used at the same time as this one: of the same kind and on the same device, with one thread and
  // memory of its own. Weights that one of them packed can be used by both.
  virtual std::unique_ptr<Backend> make_lane() const = 0;

  // Calls body(task, lane) for each task, several at once if there are threads for it: each task is computed by one
  // thread, on a backend like this one that no other task uses meanwhile. For ops that are too small to be divided.
  using LaneBody = std::function<void(int64_t task, Backend& lane)>;
  virtual void run_on_lanes(int64_t tasks, const LaneBody& body) {
    for (int64_t task = 0; task < tasks; ++task) {
      body(task, *this);
    }
  }

  // Waits until all that was asked for is computed.
  virtual void wait() {}

  Arena& arena() { return *arena_; }
  // Zeros, outside the arena: for what outlives a step, such as weights, their gradients and an optimizer's moments.
  virtual Tensor keep(Shape shape, DType type) { return {shape, type}; }

  // In elements of `types.weights`, whatever the source's type. Reads a few rows at a time: a matrix is never in memory
  // twice.
  virtual std::unique_ptr<PackedWeight> pack(const Shape& shape, ProductTypes types, const RowSource& rows) = 0;
  std::unique_ptr<PackedWeight> pack_matrix(ConstView matrix) {
    return pack({matrix.rows(), matrix.columns()}, {matrix.type(), matrix.type()},
                [&](int64_t first, int64_t count) { return matrix.row_range(first, count); });
  }

  virtual std::unique_ptr<PackedWeight> pack(const Int8Matrix& matrix) = 0;
  virtual std::unique_ptr<PackedWeight> pack(const Int4Matrix& matrix) = 0;
  // For inputs of this type: a backend may widen what it has no products of.
  virtual std::unique_ptr<PackedWeight> pack(const Int8GroupMatrix& matrix, DType inputs) = 0;
  // A matrix that is in panels already is used where it is.
  virtual std::unique_ptr<PackedWeight> adopt(const Int8Panels& panels) = 0;
  virtual std::unique_ptr<PackedWeight> adopt(const Int4Panels& panels) = 0;
  virtual std::unique_ptr<PackedWeight> adopt(const Int8GroupPanels& panels, DType inputs) = 0;
  virtual std::unique_ptr<PackedWeight> adopt(const HalfPanels& panels, DType inputs) = 0;

  // These rows of a packed matrix, in this order, packed as it is: in products they give the bits that they give in
  // those of the whole matrix, which another lane may have packed.
  virtual std::unique_ptr<PackedWeight> select_packed_rows(const PackedWeight& matrix,
                                                           std::span<const int32_t> rows) = 0;

  virtual void fill(View x, double value) = 0;
  virtual void copy(ConstView from, View to) = 0;  // converts between element types
  virtual void add(ConstView x, View into) = 0;    // into += x
  virtual void scale(View x, double factor) = 0;
  virtual void blend(ConstView from, View into, double share) = 0;  // into += share * (from - into); master type
  virtual void sum_parts(const SumParts& call) = 0;

  virtual void linear(const LinearForward& call) = 0;
  virtual void activation_backward(const ActivationBackward& call) = 0;
  virtual void linear_input_gradient(const LinearInputGradient& call) = 0;
  virtual void linear_weight_gradient(const LinearWeightGradient& call) = 0;

  virtual void embedding(const EmbeddingForward& call) = 0;
  virtual void embedding_backward(const EmbeddingBackward& call) = 0;

  virtual void select_rows(const SelectRows& call) = 0;
  virtual void select_rows_backward(const SelectRowsBackward& call) = 0;
  virtual void pool(const PoolForward& call) = 0;
  virtual void pool_backward(const PoolBackward& call) = 0;

  virtual void add_norm(const AddNormForward& call) = 0;
  virtual void add_norm_backward(const AddNormBackward& call) = 0;

  virtual void gate(const GateForward& call) = 0;
  virtual void gate_backward(const GateBackward& call) = 0;

  virtual void rotate(const Rotation& call) = 0;
  virtual void drop(const Drop& call) = 0;
  virtual void soft_cap(const SoftCap& call) = 0;
  virtual void soft_cap_backward(const SoftCapBackward& call) = 0;
  virtual void append_key_values(const KeyValueAppend& call) = 0;
  virtual void attention(const AttentionForward& call) = 0;
  virtual void attention_backward(const AttentionBackward& call) = 0;
  virtual void linear_attention(const LinearAttentionForward& call) = 0;
  virtual void linear_attention_backward(const LinearAttentionBackward& call) = 0;
  virtual void fold_linear_attention(const LinearAttentionFold& call) = 0;
  virtual void ssru(const SsruForward& call) = 0;
  virtual void ssru_backward(const SsruBackward& call) = 0;
  virtual void spread_buckets(const SpreadBuckets& call) = 0;
  virtual void spread_buckets_backward(const SpreadBucketsBackward& call) = 0;

  virtual void output_loss(const OutputLoss& call) = 0;
  virtual void cross_entropy(const CrossEntropy& call) = 0;
  virtual void logit_sums(const LogitSums& call) = 0;
  virtual void divided_loss(const DividedLoss& call) = 0;
  virtual void label_loss(const LabelLoss& call) = 0;
  virtual void distil_loss(const DistilLoss& call) = 0;
  virtual void log_softmax(ConstView logits, View log_probs) = 0;  // storage or master type to master type
  virtual void selected_log_softmax(const SelectedLogSoftmax& call) = 0;
  virtual void average_probabilities(const AverageProbabilities& call) = 0;

  // The sum of the squares of each range of x [1, n], whatever other ranges there are. norms: f64 [1, ranges].
  virtual void squared_norms(ConstView x, std::span<const ElementRange> ranges, View norms) = 0;
  virtual void sum(ConstView x, View total) = 0;  // f64 [1, n] from the first to the last; total: f64 [1, 1]
  virtual void adam(const AdamSweep& call) = 0;
  virtual void muon_direction(const MuonDirection& call) = 0;
  virtual void muon_rows(const MuonRows& call) = 0;
  virtual void muon_step(const MuonStep& call) = 0;

 private:
  std::unique_ptr<Arena> own_arena_;
  Arena* arena_;
};

}  // namespace heed
