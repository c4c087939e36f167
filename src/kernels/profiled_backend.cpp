#include "kernels/profiled_backend.h"

#include <chrono>
#include <initializer_list>

#include "kernels/calls/attention.h"
#include "kernels/calls/elements.h"
#include "kernels/calls/linear.h"
#include "kernels/calls/loss.h"
#include "kernels/calls/norm.h"
#include "kernels/calls/optimizer.h"
#include "kernels/calls/rows.h"
#include "kernels/calls/ssru.h"
#include "kernels/linear_attention_cost.h"

namespace heed {
namespace {

double bytes_of(std::initializer_list<ConstView> views) {
  double bytes = 0.0;
  for (const ConstView& view : views) {
    bytes += static_cast<double>(view.elements() * (view.empty() ? 0 : size_of(view.type())));
  }
  return bytes;
}

// Visible pairs of queries and keys.
double visible_pairs(int64_t queries, int64_t keys, const Visibility& visibility) {
  double pairs = 0.0;
  for (int64_t query = 0; query < queries; ++query) {
    pairs += static_cast<double>(visibility.count(keys - queries + query, keys));
  }
  return pairs;
}

// Neighbours of the same lengths are counted once.
double visible_pairs(const Segments& queries, const Segments& keys, const Visibility& visibility) {
  double pairs = 0.0, last = 0.0;
  for (int64_t s = 0; s < queries.count(); ++s) {
    const bool as_before = s > 0 && queries.length(s) == queries.length(s - 1) && keys.length(s) == keys.length(s - 1);
    last = as_before ? last : visible_pairs(queries.length(s), keys.length(s), visibility);
    pairs += last;
  }
  return pairs;
}

const void* address_of(const ConstView& view) {
  return view.device() == Device::cpu ? host_address(view) : device_address(view);
}

class ProfiledBackend final : public Backend {
 public:
  ProfiledBackend(Backend& inner, Profile& profile) : Backend(inner), inner_(inner), profile_(profile) {}
  ProfiledBackend(std::unique_ptr<Backend> inner, Profile& profile)
      : Backend(*inner), own_(std::move(inner)), inner_(*own_), profile_(profile) {}

  std::string_view name() const override { return inner_.name(); }
  Device device() const override { return inner_.device(); }
  std::string device_name() const override { return inner_.device_name(); }
  DType master_type() const override { return inner_.master_type(); }
  bool supports(DType storage) const override { return inner_.supports(storage); }
  int threads() const override { return inner_.threads(); }
  void use_threads(int most) override { inner_.use_threads(most); }
  std::unique_ptr<Backend> make_lane() const override { return inner_.make_lane(); }  // whose calls are not timed
  // With one thread there is one lane, this one.
  void run_on_lanes(int64_t tasks, const LaneBody& body) override {
    if (threads() == 1) {
      return Backend::run_on_lanes(tasks, body);
    }
    time("on lanes", 0.0, 0.0, [&] { inner_.run_on_lanes(tasks, body); });
  }
  void wait() override { inner_.wait(); }
  Tensor keep(Shape shape, DType type) override { return inner_.keep(shape, type); }
  std::unique_ptr<PackedWeight> pack(const Shape& shape, ProductTypes types, const RowSource& rows) override {
    return inner_.pack(shape, types, rows);
  }
  std::unique_ptr<PackedWeight> pack(const Int8Matrix& matrix) override { return inner_.pack(matrix); }
  std::unique_ptr<PackedWeight> pack(const Int8GroupMatrix& matrix, DType inputs) override {
    return inner_.pack(matrix, inputs);
  }
  std::unique_ptr<PackedWeight> pack(const Int4Matrix& matrix) override { return inner_.pack(matrix); }
  std::unique_ptr<PackedWeight> adopt(const Int8Panels& panels) override { return inner_.adopt(panels); }
  std::unique_ptr<PackedWeight> adopt(const Int8GroupPanels& panels, DType inputs) override {
    return inner_.adopt(panels, inputs);
  }
  std::unique_ptr<PackedWeight> adopt(const Int4Panels& panels) override { return inner_.adopt(panels); }
  std::unique_ptr<PackedWeight> adopt(const HalfPanels& panels, DType inputs) override {
    return inner_.adopt(panels, inputs);
  }
  std::unique_ptr<PackedWeight> select_packed_rows(const PackedWeight& matrix, std::span<const int32_t> rows) override {
    const double bytes = static_cast<double>(matrix.bytes()) / static_cast<double>(matrix.rows());
    std::unique_ptr<PackedWeight> selected;
    time("select packed rows", 0.0, 2.0 * bytes * static_cast<double>(rows.size()),
         [&] { selected = inner_.select_packed_rows(matrix, rows); });
    return selected;
  }

  void fill(View x, double value) override {
    time("fill", 0.0, bytes_of({x}), [&] { inner_.fill(x, value); });
  }
  void copy(ConstView from, View to) override {
    time("copy", 0.0, bytes_of({from, to}), [&] { inner_.copy(from, to); });
  }
  void add(ConstView x, View into) override {
    time("add", 0.0, bytes_of({x, into, into}), [&] { inner_.add(x, into); });
  }
  void blend(ConstView from, View into, double share) override {
    time("blend", 0.0, bytes_of({from, into, into}), [&] { inner_.blend(from, into, share); });
  }
  void sum_parts(const SumParts& call) override {
    const double bytes = static_cast<double>(call.parts.size() + 1) * bytes_of({call.y});
    time("sum of parts", 0.0, bytes, [&] { inner_.sum_parts(call); });
  }
  void scale(View x, double factor) override {
    time("scale", 0.0, bytes_of({x, x}), [&] { inner_.scale(x, factor); });
  }

  void linear(const LinearForward& call) override {
    const double flops =
        product({ProductKind::forward, call.x.rows(), call.y.columns(), call.x.columns()}, call.weight.matrix);
    const double packed = call.weight.packed == nullptr ? 0.0 : static_cast<double>(call.weight.packed->bytes());
    profile_.weight_bytes += profile_.records ? packed + bytes_of({call.weight.matrix}) : 0.0;
    time("linear", flops, packed + bytes_of({call.x, call.weight.matrix, call.y, call.before}),
         [&] { inner_.linear(call); });
  }
  void activation_backward(const ActivationBackward& call) override {
    time("activation backward", 0.0, bytes_of({call.before.empty() ? call.y : call.before, call.d_y, call.d_before}),
         [&] { inner_.activation_backward(call); });
  }
  void linear_input_gradient(const LinearInputGradient& call) override {
    const double flops = product({ProductKind::input_gradient, call.d_y.rows(), call.d_x.columns(), call.d_y.columns()},
                                 call.weight.matrix);
    time("linear d_x", flops, bytes_of({call.d_y, call.weight.matrix, call.d_x}),
         [&] { inner_.linear_input_gradient(call); });
  }
  void linear_weight_gradient(const LinearWeightGradient& call) override {
    const ProductShape shape{ProductKind::weight_gradient, call.d_y.columns(), call.x.columns(), call.x.rows()};
    const double flops = call.d_weight.empty() ? 0.0 : product(shape, call.d_weight);
    time("linear d_w", flops, bytes_of({call.d_y, call.x, call.d_weight}),
         [&] { inner_.linear_weight_gradient(call); });
  }

  void embedding(const EmbeddingForward& call) override {
    time("embedding", 0.0, bytes_of({call.y, call.y, call.y}), [&] { inner_.embedding(call); });
  }
  void embedding_backward(const EmbeddingBackward& call) override {
    time("embedding backward", 0.0, bytes_of({call.d_y, call.d_y, call.d_y}), [&] { inner_.embedding_backward(call); });
  }

  void select_rows(const SelectRows& call) override {
    time("select rows", 0.0, bytes_of({call.y, call.y}), [&] { inner_.select_rows(call); });
  }
  void select_rows_backward(const SelectRowsBackward& call) override {
    time("select rows backward", 0.0, bytes_of({call.d_y, call.d_x}), [&] { inner_.select_rows_backward(call); });
  }

  void pool(const PoolForward& call) override {
    time("pool", 0.0, bytes_of({call.x, call.y}), [&] { inner_.pool(call); });
  }
  void pool_backward(const PoolBackward& call) override {
    time("pool backward", 0.0, bytes_of({call.d_y, call.d_x}), [&] { inner_.pool_backward(call); });
  }

  void add_norm(const AddNormForward& call) override {
    time("add and norm", 0.0, bytes_of({call.residual, call.branch, call.sum, call.normed}),
         [&] { inner_.add_norm(call); });
  }
  void add_norm_backward(const AddNormBackward& call) override {
    time("add and norm backward", 0.0, bytes_of({call.sum, call.d_normed, call.d_sum, call.d_residual, call.d_branch}),
         [&] { inner_.add_norm_backward(call); });
  }

  void gate(const GateForward& call) override {
    time("gate", 0.0, bytes_of({call.x, call.y}), [&] { inner_.gate(call); });
  }
  void gate_backward(const GateBackward& call) override {
    time("gate backward", 0.0, bytes_of({call.x, call.d_y, call.d_x}), [&] { inner_.gate_backward(call); });
  }
  void rotate(const Rotation& call) override {
    time("rotate", 0.0, bytes_of({call.x, call.x}), [&] { inner_.rotate(call); });
  }

  void drop(const Drop& call) override {
    time("dropout", 0.0, bytes_of({call.x, call.x}), [&] { inner_.drop(call); });
  }
  void soft_cap(const SoftCap& call) override {
    time("soft cap", 0.0, bytes_of({call.x, call.x}), [&] { inner_.soft_cap(call); });
  }
  void soft_cap_backward(const SoftCapBackward& call) override {
    time("soft cap backward", 0.0, bytes_of({call.y, call.d_y, call.d_y}), [&] { inner_.soft_cap_backward(call); });
  }

  void append_key_values(const KeyValueAppend& call) override {
    time("append keys and values", 0.0, bytes_of({call.keys, call.keys, call.values, call.values}),
         [&] { inner_.append_key_values(call); });
  }
  void attention(const AttentionForward& call) override {
    const double pairs = visible_pairs(*call.segments, *call.memory.segments, call.settings.visibility);
    time("attention", 2.0 * pairs * static_cast<double>(call.queries.columns() + call.output.columns()),
         bytes_of({call.queries, call.memory.keys, call.memory.values, call.output}), [&] { inner_.attention(call); });
  }
  void attention_backward(const AttentionBackward& call) override {
    const double pairs = visible_pairs(*call.segments, *call.memory.segments, call.settings.visibility);
    time("attention backward", 4.0 * pairs * static_cast<double>(call.queries.columns() + call.output.columns()),
         bytes_of({call.queries, call.memory.keys, call.memory.values, call.output, call.d_output, call.d_queries,
                   call.d_keys, call.d_values}),
         [&] { inner_.attention_backward(call); });
  }
  void linear_attention(const LinearAttentionForward& call) override {
    time("linear attention", linear_flops(call.settings, *call.segments, call.memory),
         bytes_of({call.queries, call.memory.keys, call.memory.values, call.output}),
         [&] { inner_.linear_attention(call); });
  }
  void linear_attention_backward(const LinearAttentionBackward& call) override {
    time("linear attention backward", 2.0 * linear_flops(call.settings, *call.segments, call.memory),
         bytes_of({call.queries, call.memory.keys, call.memory.values, call.output, call.d_output, call.d_queries,
                   call.d_keys, call.d_values}),
         [&] { inner_.linear_attention_backward(call); });
  }
  void fold_linear_attention(const LinearAttentionFold& call) override {
    time("fold linear attention", 0.0, bytes_of({call.memory.states.sums}),
         [&] { inner_.fold_linear_attention(call); });
  }

  void ssru(const SsruForward& call) override {
    time("ssru", 0.0, bytes_of({call.gates, call.candidates, call.output, call.cells}), [&] { inner_.ssru(call); });
  }
  void ssru_backward(const SsruBackward& call) override {
    time("ssru backward", 0.0,
         bytes_of({call.gates, call.candidates, call.cells, call.d_output, call.d_gates, call.d_candidates}),
         [&] { inner_.ssru_backward(call); });
  }

  void spread_buckets(const SpreadBuckets& call) override {
    time("spread buckets", 0.0, bytes_of({call.scores, call.scores}), [&] { inner_.spread_buckets(call); });
  }
  void spread_buckets_backward(const SpreadBucketsBackward& call) override {
    time("spread buckets backward", 0.0, bytes_of({call.d_scores, call.d_scores}),
         [&] { inner_.spread_buckets_backward(call); });
  }

  void output_loss(const OutputLoss& call) override {
    const double flops =
        product({ProductKind::forward, call.x.rows(), call.weight.rows(), call.x.columns()}, call.weight.matrix);
    time("output and loss", flops, bytes_of({call.x, call.weight.matrix, call.d_logits}),
         [&] { inner_.output_loss(call); });
  }
  void cross_entropy(const CrossEntropy& call) override {
    time("cross-entropy", 0.0, bytes_of({call.logits, call.d_logits}), [&] { inner_.cross_entropy(call); });
  }
  void logit_sums(const LogitSums& call) override {
    time("logit sums", 0.0, bytes_of({call.logits}), [&] { inner_.logit_sums(call); });
  }
  void divided_loss(const DividedLoss& call) override {
    time("divided loss", 0.0, bytes_of({call.logits, call.d_logits}), [&] { inner_.divided_loss(call); });
  }
  void label_loss(const LabelLoss& call) override {
    time("label loss", 0.0, bytes_of({call.logits, call.d_logits}), [&] { inner_.label_loss(call); });
  }

  void distil_loss(const DistilLoss& call) override {
    time("distillation loss", 0.0, bytes_of({call.logits, call.teacher, call.d_logits}),
         [&] { inner_.distil_loss(call); });
  }
  void log_softmax(ConstView logits, View log_probs) override {
    time("log-softmax", 0.0, bytes_of({logits, log_probs}), [&] { inner_.log_softmax(logits, log_probs); });
  }
  void selected_log_softmax(const SelectedLogSoftmax& call) override {
    time("selected log-softmax", 0.0, bytes_of({call.log_probs, call.log_probs}),
         [&] { inner_.selected_log_softmax(call); });
  }
  void average_probabilities(const AverageProbabilities& call) override {
    const double bytes = static_cast<double>(call.log_probs.size() + 1) * bytes_of({call.mean});
    time("average of probabilities", 0.0, bytes, [&] { inner_.average_probabilities(call); });
  }

  void squared_norms(ConstView x, std::span<const ElementRange> ranges, View norms) override {
    time("gradient norm", 0.0, bytes_of({x}), [&] { inner_.squared_norms(x, ranges, norms); });
  }
  void sum(ConstView x, View total) override {
    time("gradient norm", 0.0, bytes_of({x}), [&] { inner_.sum(x, total); });
  }
  void adam(const AdamSweep& call) override {
    time("clip, adam, refresh", 0.0,
         bytes_of({call.weights, call.weights, call.gradients, call.first_moments, call.first_moments,
                   call.second_moments, call.second_moments, call.copy}),
         [&] { inner_.adam(call); });
  }
  void muon_direction(const MuonDirection& call) override {
    time("muon direction", 0.0, bytes_of({call.gradients, call.moments, call.moments, call.direction}),
         [&] { inner_.muon_direction(call); });
  }
  void muon_rows(const MuonRows& call) override {
    time("muon rows", 0.0, bytes_of({call.direction, call.moments, call.moments, call.factors}),
         [&] { inner_.muon_rows(call); });
  }
  void muon_step(const MuonStep& call) override {
    time("muon step", 0.0, bytes_of({call.weights, call.weights, call.direction, call.row_factors, call.copy}),
         [&] { inner_.muon_step(call); });
  }

 private:
  static double linear_flops(const LinearAttentionSettings& settings, const Segments& tokens,
                             const ConstKeyValueView& memory) {
    double flops = 0.0;
    for (int64_t s = 0; s < tokens.count(); ++s) {
      flops +=
          linear_attention_flops(settings.reach, tokens.length(s), memory.keys.columns() / settings.key_value_heads,
                                 memory.values.columns() / settings.key_value_heads);
    }
    return flops * static_cast<double>(settings.heads);
  }
  double product(const ProductShape& shape, const ConstView& matrix) {
    if (profile_.records) {
      ++profile_.products[shape];
      profile_.flops_of_matrices[address_of(matrix)] += shape.flops();
    }
    return shape.flops();
  }

  template <class Call>
  void time(const char* op, double flops, double bytes, Call&& call) {
    if (!profile_.records) {
      call();
      return;
    }
    const auto begin = std::chrono::steady_clock::now();
    call();
    inner_.wait();
    OpProfile& entry = profile_.ops[op];
    entry.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    entry.flops += flops;
    entry.bytes += bytes;
    ++entry.calls;
  }

  std::unique_ptr<Backend> own_;  // null: it is somebody else's
  Backend& inner_;
  Profile& profile_;
};

}  // namespace

double Profile::flops() const {
  double total = 0.0;
  for (const auto& [name, op] : ops) {
    total += op.flops;
  }
  return total;
}

std::unique_ptr<Backend> make_profiled_backend(Backend& inner, Profile& profile) {
  return std::make_unique<ProfiledBackend>(inner, profile);
}

std::unique_ptr<Backend> make_profiled_backend(std::unique_ptr<Backend> inner, Profile& profile) {
  return std::make_unique<ProfiledBackend>(std::move(inner), profile);
}

}  // namespace heed
