#include "quant/quantize.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/pattern.h"
#include "checkpoint/adapter.h"
#include "checkpoint/half.h"
#include "checkpoint/stored_weight.h"
#include "checkpoint/weights.h"
#include "kernels/integer_rows.h"
#include "models/any_model.h"

namespace heed {
namespace {

// The squares of a matrix's values, and of what rounding changed.
struct Noise {
  double signal = 0.0, noise = 0.0;

  void count(float exact, float rounded) {
    signal += static_cast<double>(exact) * exact;
    noise += std::pow(static_cast<double>(exact) - rounded, 2);
  }
};

// One weight, in the form in which it is written.
struct Rounded {
  std::vector<std::byte> bytes;
  std::vector<std::byte> scales;
  StoredType type_of_scales = StoredType::f32;
  std::vector<int64_t> shape_of_scales;  // of whole numbers
};

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

Rounded to_int8(const std::vector<float>& values, const Shape& shape, Noise& noise) {
  const auto columns = static_cast<size_t>(shape.columns());
  std::vector<int8_t> whole(values.size());
  std::vector<float> scales;
  scales.reserve(static_cast<size_t>(shape.rows()));
  for (size_t first = 0; first < values.size(); first += columns) {
    const float scale =
        quantize_row(std::span(values).subspan(first, columns), std::span(whole).subspan(first, columns));
    scales.push_back(scale);
    for (size_t i = first; i < first + columns; ++i) {
      noise.count(values[i], scale * static_cast<float>(whole[i]));
    }
  }
  return {bytes_of(whole), bytes_of(scales), StoredType::f32, {shape.rows()}};
}

// Two values in a byte, the first in the lower half, both 8 too large; the scales in bf16.
Rounded to_int4(const std::vector<float>& values, const Weight& weight, Noise& noise) {
  const int64_t rows = weight.shape().rows(), columns = weight.shape().columns(), groups = columns / kInt4Group;
  require<ConfigError>(columns % kInt4Group == 0, weight.name(),
                       "has rows of {}, which groups of {} do not divide: give it another type, with --keep", columns,
                       kInt4Group);
  std::vector<uint8_t> pairs;
  pairs.reserve(values.size() / 2);
  std::vector<uint16_t> all_scales;
  std::vector<int8_t> whole(static_cast<size_t>(columns));
  std::vector<float> scales(static_cast<size_t>(groups));
  for (int64_t r = 0; r < rows; ++r) {
    const auto row = std::span(values).subspan(static_cast<size_t>(r * columns), whole.size());
    quantize_row_in_groups(row, whole, scales);
    for (size_t k = 0; k < whole.size(); ++k) {
      noise.count(row[k], scales[k / kInt4Group] * static_cast<float>(whole[k]));
    }
    for (size_t k = 0; k < whole.size(); k += 2) {
      pairs.push_back(static_cast<uint8_t>(whole[k] + 8 + 16 * (whole[k + 1] + 8)));
    }
    std::ranges::transform(scales, std::back_inserter(all_scales), [](float scale) { return bf16(scale).bits; });
  }
  return {bytes_of(pairs), bytes_of(all_scales), StoredType::bf16, {rows, groups}};
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
  return {bytes_of(halves), {}, StoredType::f32, {}};
}

Rounded rounded_to(WeightType type, const std::vector<float>& values, const Weight& weight, Noise& noise) {
  switch (type) {
    case WeightType::int8:
      return to_int8(values, weight.shape(), noise);
    case WeightType::int4:
      return to_int4(values, weight, noise);
    case WeightType::bf16:
    case WeightType::f16:
      return to_halves(values, weight.name(), type, noise);
    case WeightType::f32:
      break;
  }
  return {bytes_of(values), {}, StoredType::f32, {}};
}

// The tensors of the new file. Those of wider elements come first, which aligns all of them.
class QuantizedTensors {
 public:
  QuantizedTensors(const SafeTensors& from, const Weights& weights, const TypePlan& plan) : from_(from), plan_(plan) {
    for (const Weight& weight : weights.all()) {
      require_stored(from, weight);
      add(weight);
    }
    std::ranges::stable_sort(tensors_, std::ranges::greater{},
                             [](const TensorSource& tensor) { return size_of(tensor.type); });
  }

  std::span<const TensorSource> tensors() const { return tensors_; }
  QuantizedWeights summary() const {
    QuantizedWeights summary = summary_;
    summary.signal_to_noise =
        noise_.noise > 0.0 ? 10.0 * std::log10(noise_.signal / noise_.noise) : std::numeric_limits<double>::infinity();
    return summary;
  }

 private:
  void add(const Weight& weight) {
    const bool is_matrix = weight.use() != WeightUse::vector;
    const WeightType type = is_matrix ? plan_.of(weight.name()) : WeightType::f32;
    const std::vector<float> values = read_weight(from_, from_.at(weight.name()));
    Rounded rounded = rounded_to(type, values, weight, noise_);
    summary_.matrices += is_matrix ? 1 : 0;
    summary_.bytes_before += static_cast<int64_t>(values.size() * sizeof(float));
    summary_.bytes_after += static_cast<int64_t>(rounded.bytes.size() + rounded.scales.size());
    std::vector<int64_t> shape = stored_shape(weight.shape());
    if (type == WeightType::int4) {
      shape.back() /= 2;
    }
    if (!rounded.scales.empty()) {
      add_tensor(scales_of(weight.name()), rounded.type_of_scales, rounded.shape_of_scales, std::move(rounded.scales));
    }
    add_tensor(weight.name(), stored_as(type), std::move(shape), std::move(rounded.bytes));
  }
  void add_tensor(const std::string& name, StoredType type, std::vector<int64_t> shape, std::vector<std::byte> bytes) {
    tensors_.push_back({name, type, std::move(shape), [kept = std::move(bytes)](const ByteSink& sink) { sink(kept); }});
  }

  const SafeTensors& from_;
  const TypePlan& plan_;
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

}  // namespace

WeightType TypePlan::of(const std::string& weight) const {
  const auto kept =
      std::ranges::find_if(keep, [&](const KeptWeights& one) { return matches_pattern(one.pattern, weight); });
  return kept == keep.end() ? type : kept->type;
}

QuantizedWeights quantize_directory(const ModelFolder& from, const ModelFolder& to, const TypePlan& plan) {
  require<ConfigError>(!holds_adapter(from), from.path.string(),
                       "is an adapter: make a plain model of it first, with heed merge");
  require_no_model(to);
  const ModelDescription description = load_description(from);
  const Tokenizers tokenizers = load_tokenizers(from, description);
  const SafeTensors stored(from.weights());
  verify_checksum(stored);
  Weights weights;
  const AnyModel model(Scope(weights), description.config);
  require_matches(plan, weights, from);
  const QuantizedTensors quantized(stored, weights, plan);
  create(to);
  write_checked_safetensors(to.weights(), quantized.tensors(), mark_of(description.config));
  save_description(to, description.config, tokenizers, description.documents.value_or(Documents::none));
  return quantized.summary();
}

}  // namespace heed
