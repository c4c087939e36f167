#include "quant/quantize.h"

#include <algorithm>
#include <iterator>

#include "base/pattern.h"
#include "checkpoint/adapter.h"
#include "checkpoint/half.h"
#include "checkpoint/stored_weight.h"
#include "checkpoint/weights.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/integer_rows.h"
#include "models/any_model.h"
#include "quant/calibration.h"
#include "quant/static_int8.h"

namespace heed {
namespace {

// One weight, in the form in which it is written.
struct Rounded {
  std::vector<std::byte> bytes;
  std::vector<std::byte> scales;
  StoredType type_of_scales = StoredType::f32;
  std::vector<int64_t> shape_of_scales;  // of whole numbers
  std::vector<std::byte> input_scale;    // of int8-static
};

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

Rounded written_int8(const WholeNumbers& whole, float input_scale) {
  Rounded rounded{bytes_of(whole.values), bytes_of(whole.scales), StoredType::f32, {whole.shape.rows()}, {}};
  if (input_scale > 0.0F) {
    rounded.input_scale = bytes_of(std::vector<float>{input_scale});
  }
  return rounded;
}

// Two values in a byte, the first in the lower half, both 8 too large; the scales in bf16.
Rounded written_int4(const WholeNumbers& whole) {
  std::vector<uint8_t> pairs;
  pairs.reserve(whole.values.size() / 2);
  for (size_t i = 0; i < whole.values.size(); i += 2) {
    pairs.push_back(static_cast<uint8_t>(whole.values[i] + 8 + 16 * (whole.values[i + 1] + 8)));
  }
  std::vector<uint16_t> scales;
  scales.reserve(whole.scales.size());
  std::ranges::transform(whole.scales, std::back_inserter(scales), [](float scale) { return bf16(scale).bits; });
  return {bytes_of(pairs), bytes_of(scales), StoredType::bf16, {whole.shape.rows(), whole.groups()}, {}};
}

Rounded to_halves(const std::vector<float>& values, const std::string& name, WeightType type, Noise& noise) {
  std::vector<uint16_t> halves;
  halves.reserve(values.size());
  for (const float x : values) {
    require<ConfigError>(type == WeightType::bf16 || std::abs(x) <= kLargestHalf, name,
                         "holds {}, but f16 reaches only {}: use bf16 for it", x, kLargestHalf);
    halves.push_back(type == WeightType::bf16 ? bf16(x).bits : half_from(x));
    bf16 read;
    read.bits = halves.back();
    noise.count(x, type == WeightType::bf16 ? static_cast<float>(read) : from_half(halves.back()));
  }
  return {bytes_of(halves), {}, StoredType::f32, {}, {}};
}

// Matrices and vectors as the new model computes with them, exact yet.
class ExactWeights {
 public:
  ExactWeights(const SafeTensors& from, const ColumnFactors& smoothing) : from_(from), smoothing_(smoothing) {}

  std::vector<float> values(const Weight& weight) const {
    std::vector<float> values = read_weight(from_, from_.at(weight.name()));
    smoothing_.apply(weight.name(), values);
    return values;
  }

 private:
  const SafeTensors& from_;
  const ColumnFactors& smoothing_;
};

// The tensors of the new file. Those of wider elements come first, which aligns all of them.
class QuantizedTensors {
 public:
  QuantizedTensors(const ExactWeights& exact, const Weights& weights, const TypePlan& plan,
                   const StaticPlan& static_plan)
      : exact_(exact), plan_(plan), static_plan_(static_plan) {
    for (const Weight& weight : weights.all()) {
      add(weight);
    }
    std::ranges::stable_sort(tensors_, std::ranges::greater{},
                             [](const TensorSource& tensor) { return size_of(tensor.type); });
  }

  std::span<const TensorSource> tensors() const { return tensors_; }
  QuantizedWeights summary() const {
    QuantizedWeights summary = summary_;
    summary.signal_to_noise = noise_.decibels();
    return summary;
  }

 private:
  void add(const Weight& weight) {
    const bool is_matrix = weight.use() != WeightUse::vector;
    const WeightType type = is_matrix ? plan_.of(weight.name()) : WeightType::f32;
    const std::vector<float> values = exact_.values(weight);
    Noise noise;
    Rounded rounded = rounded_to(type, values, weight, noise);
    const auto bytes = static_cast<int64_t>(rounded.bytes.size() + rounded.scales.size() + rounded.input_scale.size());
    summary_.bytes_before += static_cast<int64_t>(values.size() * sizeof(float));
    summary_.bytes_after += bytes;
    if (is_matrix) {
      noise_ += noise;
      summary_.matrices.push_back({.name = weight.name(), .type = type, .bytes = bytes});
      summary_.matrices.back().signal_to_noise = noise.decibels();
      describe_inputs(summary_.matrices.back());
    }
    std::vector<int64_t> shape = stored_shape(weight.shape());
    if (type == WeightType::int4) {
      shape.back() /= 2;
    }
    if (!rounded.scales.empty()) {
      add_tensor(scales_of(weight.name()), rounded.type_of_scales, rounded.shape_of_scales, std::move(rounded.scales));
    }
    if (!rounded.input_scale.empty()) {
      add_tensor(input_scale_of(weight.name()), StoredType::f32, {1}, std::move(rounded.input_scale));
    }
    add_tensor(weight.name(), stored_as(type), std::move(shape), std::move(rounded.bytes));
  }

  Rounded rounded_to(WeightType type, const std::vector<float>& values, const Weight& weight, Noise& noise) const {
    const auto counted = [&](WholeNumbers whole) {
      noise.count(values, whole);
      return whole;
    };
    switch (type) {
      case WeightType::int8:
        return written_int8(counted(to_int8(values, weight.shape())), 0.0F);
      case WeightType::int8_static:
        return written_int8(counted(to_int8(values, weight.shape())), input_scale(weight));
      case WeightType::int4:
        return written_int4(counted(to_int4(values, weight.shape(), kInt4Group)));
      case WeightType::bf16:
      case WeightType::f16:
        return to_halves(values, weight.name(), type, noise);
      case WeightType::f32:
        break;
    }
    noise.count(values, values);
    return {bytes_of(values), {}, StoredType::f32, {}, {}};
  }

  // 0 of a matrix that only tables read, or whose inputs were all zeros.
  float input_scale(const Weight& weight) const {
    const auto it = static_plan_.inputs.find(weight.name());
    return it == static_plan_.inputs.end() ? 0.0F : it->second.range.scale();
  }
  void describe_inputs(QuantizedMatrix& matrix) const {
    if (const auto it = static_plan_.inputs.find(matrix.name); it != static_plan_.inputs.end()) {
      matrix.range = name_of(it->second.range.rule);
      matrix.product_signal_to_noise = it->second.noise.decibels();
      matrix.smoothed = static_plan_.smoothing.multiplied.contains(matrix.name) ? Smoothed::yes : Smoothed::no;
    }
  }
  void add_tensor(const std::string& name, StoredType type, std::vector<int64_t> shape, std::vector<std::byte> bytes) {
    tensors_.push_back({name, type, std::move(shape), [kept = std::move(bytes)](const ByteSink& sink) { sink(kept); }});
  }

  const ExactWeights& exact_;
  const TypePlan& plan_;
  const StaticPlan& static_plan_;
  std::vector<TensorSource> tensors_;
  QuantizedWeights summary_;
  Noise noise_;
};

// A pattern that matches nothing is a mistake in it.
void require_matches(const TypePlan& plan, const Weights& weights, const ModelFolder& folder) {
  for (const KeptWeights& kept : plan.keep) {
    std::vector<std::string_view> names;
    for (const Weight& weight : weights.all()) {
      if (weight.use() != WeightUse::vector) {
        names.push_back(weight.name());
      }
    }
    require<ConfigError>(
        std::ranges::any_of(names, [&](std::string_view name) { return matches_pattern(kept.pattern, name); }),
        folder.path.string(), "no matrix of the model matches '{}'; the nearest is {}", kept.pattern,
        nearest_to_pattern(kept.pattern, names));
  }
}

// int4 needs whole groups.
void require_groups(const TypePlan& plan, const Weights& weights) {
  for (const Weight& weight : weights.all()) {
    const bool fits = weight.use() == WeightUse::vector || plan.of(weight.name()) != WeightType::int4 ||
                      weight.shape().columns() % kInt4Group == 0;
    require<ConfigError>(fits, weight.name(),
                         "has rows of {}, which groups of {} do not divide: give it another type, with --keep",
                         weight.shape().columns(), kInt4Group);
  }
}

bool has_matrix_of(WeightType type, const TypePlan& plan, const Weights& weights) {
  return std::ranges::any_of(weights.all(), [&](const Weight& weight) {
    return weight.use() != WeightUse::vector && plan.of(weight.name()) == type;
  });
}

// A calibration text is needed for some types, and of no use for others.
void require_calibration(const TypePlan& plan, const CalibrationFiles& files, const Weights& weights) {
  const bool is_static = has_matrix_of(WeightType::int8_static, plan, weights);
  require<ConfigError>(!files.text.empty() || files.target.empty(), files.target,
                       "is the translation of a calibration text, which is missing: name it with --calibration");
  require<ConfigError>(!files.text.empty() || !is_static, "int8-static",
                       "needs a text that shows what the products' inputs are: name one with --calibration");
  require<ConfigError>(files.text.empty() || is_static, files.text,
                       "a calibration text serves int8-static alone: choose that type, or leave the text out");
}

StaticPlan static_plan_of(const ModelFolder& from, const SafeTensors& stored, const AnyModel& model,
                          const Weights& weights, const QuantizationPlan& plan) {
  if (plan.calibration.text.empty()) {
    return {};
  }
  const auto backend = make_cpu_backend(plan.threads);
  const InputsByWeight inputs = calibrate(from, plan.calibration, Squares::none, *backend);
  std::vector<StaticMatrix> matrices;
  for (const Weight& weight : weights.all()) {
    const auto it = inputs.find(weight.name());
    if (it != inputs.end() && plan.types.of(weight.name()) == WeightType::int8_static) {
      matrices.push_back({weight, read_weight(stored, stored.at(weight.name())), it->second});
    }
  }
  return plan_static(*backend, matrices, normed_products(model.config(), weights));
}

}  // namespace

WeightType TypePlan::of(const std::string& weight) const {
  const auto kept =
      std::ranges::find_if(keep, [&](const KeptWeights& one) { return matches_pattern(one.pattern, weight); });
  return kept == keep.end() ? type : kept->type;
}

QuantizedWeights quantize_directory(const ModelFolder& from, const ModelFolder& to, const QuantizationPlan& plan) {
  require<ConfigError>(!holds_adapter(from), from.path.string(),
                       "is an adapter: make a plain model of it first, with heed merge");
  require_no_model(to);
  const ModelDescription description = load_description(from);
  const Tokenizers tokenizers = load_tokenizers(from, description);
  const SafeTensors stored(from.weights());
  verify_checksum(stored);
  Weights weights;
  const AnyModel model(Scope(weights), description.config);
  for (const Weight& weight : weights.all()) {
    require_stored(stored, weight);
  }
  require_not_quantized(stored);
  require_matches(plan.types, weights, from);
  require_groups(plan.types, weights);
  require_calibration(plan.types, plan.calibration, weights);
  const StaticPlan static_plan = static_plan_of(from, stored, model, weights, plan);
  const ExactWeights exact(stored, static_plan.smoothing);
  const QuantizedTensors quantized(exact, weights, plan.types, static_plan);
  create(to);
  write_checked_safetensors(to.weights(), quantized.tensors(), mark_of(description.config));
  save_description(to, description.config, tokenizers, description.documents.value_or(Documents::none));
  return quantized.summary();
}

}  // namespace heed
