#include "quant/quantize.h"

#include <algorithm>
#include <iterator>

#include "base/text/pattern.h"
#include "checkpoint/adapter.h"
#include "checkpoint/chat_template_file.h"
#include "checkpoint/stored_model.h"
#include "checkpoint/stored_panels.h"
#include "checkpoint/stored_weight.h"
#include "checkpoint/weights.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/integer_panels.h"
#include "models/any_model.h"
#include "nn/weights/weight_layer.h"
#include "quant/calibration.h"
#include "quant/matrix_rounding.h"
#include "tensor_files/safetensors_header.h"

namespace heed {
namespace {

// Matrices and vectors as the new model computes with them, before they are rounded.
class ExactWeights {
 public:
  ExactWeights(const TensorFile& from, const ColumnFactors& smoothing) : from_(from), smoothing_(smoothing) {}

  std::vector<float> values(const Weight& weight) const {
    std::vector<float> values = read_weight(from_, from_.at(weight.name()));
    smoothing_.apply(weight.name(), values);
    return values;
  }

 private:
  const TensorFile& from_;
  const ColumnFactors& smoothing_;
};

// The tensors of the new file. Those of whole cache lines come first, so that each begins at one, as panels must; of
// the others those of wider elements, which aligns them to their elements.
class QuantizedTensors {
 public:
  QuantizedTensors(const ExactWeights& exact, const Weights& weights, const QuantizationPlan& plan,
                   const MatrixRounding& rounding)
      : exact_(exact), plan_(plan.types), rounding_(rounding) {
    for (const Weight& weight : weights.all()) {
      require_uninterrupted(state_of(plan.interruption), "quantize");
      add(weight);
    }
    std::ranges::stable_sort(tensors_, std::ranges::greater{}, [](const TensorSource& tensor) {
      const bool whole_lines = *bytes_of(tensor.type, tensor.shape) % kPanelAlignment == 0;
      return std::pair(whole_lines, size_of(tensor.type));
    });
  }

  std::span<const TensorSource> tensors() const { return tensors_; }
  const Metadata& metadata() const { return metadata_; }
  QuantizedWeights summary() const {
    QuantizedWeights summary = summary_;
    summary.signal_to_noise = noise_.decibels();
    return summary;
  }

 private:
  void add(const Weight& weight) {
    const std::vector<float> values = exact_.values(weight);
    QuantizedMatrix matrix{.name = weight.name(), .layer = layer_of_weight(weight), .type = WeightType::f32};
    RoundedWeight rounded;
    if (weight.use() == WeightUse::vector) {
      rounded = unrounded(values, weight.shape());
    } else {
      Noise noise;
      matrix.type = plan_.of(weight.name());
      rounded = rounding_.round(weight, values, matrix, noise);
      matrix.signal_to_noise = noise.decibels();
      noise_ += noise;
    }
    matrix.bytes = static_cast<int64_t>(rounded.size());
    summary_.bytes_before += static_cast<int64_t>(values.size() * sizeof(float));
    summary_.bytes_after += matrix.bytes;
    add_tensors(weight, matrix.type, std::move(rounded));
    if (weight.use() != WeightUse::vector) {
      summary_.matrices.push_back(std::move(matrix));
    }
  }

  void add_tensors(const Weight& weight, WeightType type, RoundedWeight rounded) {
    if (!rounded.sums.empty()) {
      add_tensor(sums_of(weight.name()), StoredType::i32, rounded.shape_of_scales, std::move(rounded.sums));
    }
    if (!rounded.scales.empty()) {
      add_tensor(scales_of(weight.name()), rounded.type_of_scales, rounded.shape_of_scales, std::move(rounded.scales));
    }
    if (!rounded.input_scale.empty()) {
      add_tensor(input_scale_of(weight.name()), StoredType::f32, {1}, std::move(rounded.input_scale));
    }
    metadata_.merge(mark_of_panels(stored_as(type)));
    add_tensor(weight.name(), stored_as(type), std::move(rounded.shape), std::move(rounded.bytes));
  }

  void add_tensor(const std::string& name, StoredType type, std::vector<int64_t> shape, std::vector<std::byte> bytes) {
    tensors_.push_back({name, type, std::move(shape), [kept = std::move(bytes)](const ByteSink& sink) { sink(kept); }});
  }

  const ExactWeights& exact_;
  const TypePlan& plan_;
  const MatrixRounding& rounding_;
  std::vector<TensorSource> tensors_;
  Metadata metadata_;  // of the layouts
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

bool has_matrix_of(WeightType type, const TypePlan& plan, const Weights& weights) {
  return std::ranges::any_of(weights.all(), [&](const Weight& weight) {
    return weight.use() != WeightUse::vector && plan.of(weight.name()) == type;
  });
}

// int4 and int8-groups need whole groups.
void require_groups(const TypePlan& plan, int64_t group, const Weights& weights) {
  require<ConfigError>(group == kInt4Group || group == kLargeInt4Group, "int4", "groups of {}, expected {} or {}",
                       group, kInt4Group, kLargeInt4Group);
  require<ConfigError>(group == kInt4Group || has_matrix_of(WeightType::int4, plan, weights), "int4",
                       "groups of {}, but no matrix becomes int4", group);
  for (const Weight& weight : weights.all()) {
    if (weight.use() == WeightUse::vector) {
      continue;
    }
    const WeightType type = plan.of(weight.name());
    const int64_t own = type == WeightType::int4 ? group : type == WeightType::int8_groups ? kInt8Group : 1;
    require<ConfigError>(weight.shape().columns() % own == 0, weight.name(),
                         "has rows of {}, which groups of {} do not divide: give it another type, with --keep",
                         weight.shape().columns(), own);
  }
}

// A calibration text is needed for some types, and of no use for others.
void require_calibration(const QuantizationPlan& whole, const Weights& weights) {
  const TypePlan& plan = whole.types;
  const CalibrationFiles& files = whole.calibration;
  const bool is_static = has_matrix_of(WeightType::int8_static, plan, weights);
  require<ConfigError>(!files.text.empty() || files.target.empty(), files.target,
                       "is the translation of a calibration text, which is missing: name it with --calibration");
  require<ConfigError>(!files.text.empty() || !is_static, "int8-static",
                       "needs a text that shows what the products' inputs are: name one with --calibration");
  require<ConfigError>(
      files.text.empty() || whole.use == CalibrationUse::inputs || is_static ||
          has_matrix_of(WeightType::int4, plan, weights),
      files.text,
      "a calibration text serves int8-static and int4: choose one of them, ask for a report, or leave the text out");
}

// The int8-static matrices.
StaticPlan static_plan_of(const TensorFile& stored, const AnyModel& model, const Weights& weights,
                          const TypePlan& types, const InputsByWeight& inputs, Backend& backend) {
  std::vector<StaticMatrix> matrices;
  for (const Weight& weight : weights.all()) {
    const auto it = inputs.find(weight.name());
    if (it != inputs.end() && types.of(weight.name()) == WeightType::int8_static) {
      matrices.push_back({weight, read_weight(stored, stored.at(weight.name())), it->second});
    }
  }
  return plan_static(backend, matrices, normed_products(model.config(), weights));
}

// The new folder with its weights, after a calibration or without.
QuantizedModel write_quantized(const ModelFolder& from, const ModelFolder& to, const TensorFile& stored,
                               const AnyModel& model, const Weights& weights, const QuantizationPlan& plan) {
  const auto backend = make_cpu_backend(plan.threads);
  ThreadPool pool(plan.threads);
  InputsByWeight inputs;
  StaticPlan static_plan;
  const bool calibrates = !plan.calibration.text.empty();
  if (calibrates) {
    const bool compensates = has_matrix_of(WeightType::int4, plan.types, weights);
    inputs =
        calibrate(from, {plan.calibration, compensates ? Squares::wanted : Squares::none, plan.interruption}, *backend);
    static_plan = static_plan_of(stored, model, weights, plan.types, inputs, *backend);
  }
  const Calibrated calibrated{*backend, pool, inputs, static_plan};
  const MatrixRounding rounding(plan.group, calibrates ? &calibrated : nullptr);
  const ExactWeights exact(stored, static_plan.smoothing);
  const QuantizedTensors quantized(exact, weights, plan, rounding);
  auto folder = std::make_unique<NewFolder>(to.path);
  Metadata metadata = mark_of(model.config());
  metadata.insert(quantized.metadata().begin(), quantized.metadata().end());
  write_checked_safetensors(to.weights(), quantized.tensors(), metadata, plan.interruption);
  return {quantized.summary(), std::move(folder)};
}

}  // namespace

WeightType TypePlan::of(const std::string& weight) const {
  const auto kept =
      std::ranges::find_if(keep, [&](const KeptWeights& one) { return matches_pattern(one.pattern, weight); });
  return kept == keep.end() ? type : kept->type;
}

QuantizedModel quantize_directory(const ModelFolder& from, const ModelFolder& to, const QuantizationPlan& plan) {
  require<ConfigError>(!holds_adapter(from), from.path.string(),
                       "is an adapter: make a plain model of it first, with heed merge");
  require_no_model(to);
  const ModelDescription description = load_description(from);
  const Tokenizers tokenizers = load_tokenizers(from, description);
  const std::shared_ptr<const TensorFile> stored = open_weights(from, description.config, BlocksAs::floats);
  verify_checksum(*stored);
  Weights weights;
  const AnyModel model(Scope(weights), description.config);
  for (const Weight& weight : weights.all()) {
    require_stored(*stored, weight);
  }
  require_not_quantized(*stored);
  require_matches(plan.types, weights, from);
  require_groups(plan.types, plan.group, weights);
  require_calibration(plan, weights);
  QuantizedModel written = write_quantized(from, to, *stored, model, weights, plan);
  save_description(to, description, tokenizers);
  copy_chat_template(from, to);
  return written;
}

}  // namespace heed
