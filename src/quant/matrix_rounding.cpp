#include "quant/matrix_rounding.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "checkpoint/stored_panels.h"
#include "checkpoint/weights.h"
#include "kernels/half_panels.h"
#include "kernels/integer_panels.h"
#include "quant/compensated_int4.h"
#include "tensor/half.h"

namespace heed {
namespace {

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// Calls write(rows, number) for each panel with the rows that it has, possibly none.
template <class Write>
void each_panel(const IntegerMatrix& whole, Write write) {
  const int64_t columns = whole.shape.columns();
  for (int64_t panel = 0; panel < panels_of(whole.shape.rows()); ++panel) {
    const int64_t first = std::min(whole.shape.rows(), panel * kPanelRows);
    const int64_t count = std::min(kPanelRows, whole.shape.rows() - first);
    write(HostView<const int8_t>{whole.values.data() + first * columns, count, columns, columns}, panel);
  }
}

RoundedWeight written_int8(const IntegerMatrix& whole, float input_scale) {
  const int64_t rows = whole.shape.rows(), panel_words = int8_panel_words(whole.shape.columns());
  std::vector<uint32_t> words(static_cast<size_t>(panels_of(rows) * panel_words));
  std::vector<float> scales = whole.scales;
  scales.resize(static_cast<size_t>(padded_rows(rows)), 0.0F);
  std::vector<int32_t> sums(scales.size(), 0);
  each_panel(whole, [&](const HostView<const int8_t>& from, int64_t panel) {
    write_int8_panel(from, words.data() + panel * panel_words, sums.data() + panel * kPanelRows);
  });
  RoundedWeight rounded{.bytes = bytes_of(words),
                        .shape = int8_panel_shape(whole.shape),
                        .scales = bytes_of(scales),
                        .shape_of_scales = {padded_rows(rows)},
                        .sums = bytes_of(sums)};
  if (input_scale > 0.0F) {
    rounded.input_scale = bytes_of(std::vector<float>{input_scale});
  }
  return rounded;
}

// The scales of groups by group_scale_index(), each by bits(scale).
template <class Bits>
std::vector<std::byte> written_group_scales(const IntegerMatrix& whole, Bits bits) {
  const int64_t rows = whole.shape.rows(), groups = whole.groups();
  std::vector<uint16_t> scales(static_cast<size_t>(padded_rows(rows) * groups), 0);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t group = 0; group < groups; ++group) {
      scales[static_cast<size_t>(group_scale_index(row, group, groups))] =
          bits(whole.scales[static_cast<size_t>(row * groups + group)]);
    }
  }
  return bytes_of(scales);
}

RoundedWeight written_int8_groups(const IntegerMatrix& whole) {
  const int64_t panel_words = int8_panel_words(whole.shape.columns());
  std::vector<uint32_t> words(static_cast<size_t>(panels_of(whole.shape.rows()) * panel_words));
  each_panel(whole, [&](const HostView<const int8_t>& from, int64_t panel) {
    write_int8_panel(from, words.data() + panel * panel_words, nullptr);
  });
  return {.bytes = bytes_of(words),
          .shape = int8_panel_shape(whole.shape),
          .scales = written_group_scales(whole, half_from),
          .type_of_scales = StoredType::f16,
          .shape_of_scales = group_panel_scales_shape(whole.shape, kInt8Group)};
}

RoundedWeight written_int4(const IntegerMatrix& whole) {
  const int64_t panel_words = int4_panel_words(whole.shape.columns());
  std::vector<uint32_t> words(static_cast<size_t>(panels_of(whole.shape.rows()) * panel_words));
  each_panel(whole, [&](const HostView<const int8_t>& from, int64_t panel) {
    write_int4_panel(from, words.data() + panel * panel_words);
  });
  return {.bytes = bytes_of(words),
          .shape = int4_panel_shape(whole.shape),
          .scales = written_group_scales(whole, [](float scale) { return bf16(scale).bits; }),
          .type_of_scales = StoredType::bf16,
          .shape_of_scales = group_panel_scales_shape(whole.shape, whole.group())};
}

RoundedWeight written_halves(const std::vector<uint16_t>& values, const Shape& shape) {
  const int64_t rows = shape.rows(), columns = shape.columns(), panel_words = half_panel_words(columns);
  std::vector<uint32_t> words(static_cast<size_t>(half_panels_of(rows) * panel_words));
  for (int64_t first = 0; first < rows; first += kHalfPanelRows) {
    write_half_panel({values.data() + first * columns, std::min(kHalfPanelRows, rows - first), columns, columns},
                     words.data() + first / kHalfPanelRows * panel_words);
  }
  return {.bytes = bytes_of(words), .shape = half_panel_shape(shape)};
}

RoundedWeight to_halves(std::span<const float> values, const Weight& weight, WeightType type, Noise& noise) {
  std::vector<uint16_t> halves;
  halves.reserve(values.size());
  for (const float x : values) {
    require<ConfigError>(type == WeightType::bf16 || std::abs(x) <= kLargestHalf, weight.name(),
                         "holds {}, but f16 reaches only {}: use bf16 for it", x, kLargestHalf);
    halves.push_back(type == WeightType::bf16 ? bf16(x).bits : half_from(x));
    bf16 read;
    read.bits = halves.back();
    noise.count(x, type == WeightType::bf16 ? static_cast<float>(read) : from_half(halves.back()));
  }
  return written_halves(halves, weight.shape());
}

double largest_over_rms(std::span<const float> values) {
  double largest = 0.0, squares = 0.0;
  for (const float x : values) {
    largest = std::max(largest, static_cast<double>(std::abs(x)));
    squares += static_cast<double>(x) * static_cast<double>(x);
  }
  return squares > 0.0 ? largest / std::sqrt(squares / static_cast<double>(values.size())) : 0.0;
}

}  // namespace

RoundedWeight unrounded(const std::vector<float>& values, const Shape& shape) {
  return {.bytes = bytes_of(values), .shape = stored_shape(shape)};
}

const ProductInputs* MatrixRounding::inputs_of(const Weight& weight) const {
  if (calibrated_ == nullptr) {
    return nullptr;
  }
  const auto it = calibrated_->inputs.find(weight.name());
  return it == calibrated_->inputs.end() ? nullptr : &it->second;
}

RoundedWeight MatrixRounding::round(const Weight& weight, const std::vector<float>& values, QuantizedMatrix& matrix,
                                    Noise& noise) const {
  matrix.largest_over_rms = largest_over_rms(values);
  if (const ProductInputs* const inputs = inputs_of(weight)) {
    matrix.input_largest_over_rms = largest_over_rms(inputs->sample().values);
  }
  switch (matrix.type) {
    case WeightType::int8:
    case WeightType::int8_static:
      return to_int8(weight, values, matrix, noise);
    case WeightType::int8_groups:
      return to_int8_groups(weight, values, matrix, noise);
    case WeightType::int4:
      return to_int4(weight, values, matrix, noise);
    case WeightType::bf16:
    case WeightType::f16:
      return to_halves(values, weight, matrix.type, noise);
    case WeightType::f32:
      break;
  }
  noise.count(values, values);
  return unrounded(values, weight.shape());
}

// A matrix that only tables read, or whose inputs were all zeros, has no input scale.
RoundedWeight MatrixRounding::to_int8(const Weight& weight, std::span<const float> values, QuantizedMatrix& matrix,
                                      Noise& noise) const {
  const IntegerMatrix whole = heed::to_int8(values, weight.shape());
  noise.count(values, whole);
  const ProductInputs* const inputs = inputs_of(weight);
  if (inputs == nullptr) {
    return written_int8(whole, 0.0F);
  }
  const StaticPlan& plan = calibrated_->static_plan;
  const auto it = plan.inputs.find(weight.name());
  if (it != plan.inputs.end()) {
    matrix.range = name_of(it->second.range.rule);
    matrix.product_signal_to_noise = it->second.noise.decibels();
    matrix.smoothed = plan.smoothing.multiplied.contains(weight.name()) ? Smoothed::yes : Smoothed::no;
    return written_int8(whole, it->second.range.scale());
  }
  Backend& backend = calibrated_->backend;
  matrix.product_signal_to_noise = product_noise(backend, inputs->sample(), *packed_f32(backend, values, whole.shape),
                                                 *backend.pack(whole.as_int8(0.0F)))
                                       .decibels();
  return written_int8(whole, 0.0F);
}

RoundedWeight MatrixRounding::to_int8_groups(const Weight& weight, std::span<const float> values,
                                             QuantizedMatrix& matrix, Noise& noise) const {
  for (const float x : values) {
    require<ConfigError>(std::abs(x) <= 127.0F * kLargestHalf, weight.name(),
                         "holds {}, but the scales of int8-groups reach only {}: use int8 for it", x,
                         127.0F * kLargestHalf);
  }
  const IntegerMatrix whole = heed::to_int8_groups(values, weight.shape());
  noise.count(values, whole);
  if (const ProductInputs* const inputs = inputs_of(weight)) {
    Backend& backend = calibrated_->backend;
    matrix.product_signal_to_noise = product_noise(backend, inputs->sample(), *packed_f32(backend, values, whole.shape),
                                                   *backend.pack(whole.as_int8_groups(), DType::f32))
                                         .decibels();
  }
  return written_int8_groups(whole);
}

RoundedWeight MatrixRounding::to_int4(const Weight& weight, std::span<const float> values, QuantizedMatrix& matrix,
                                      Noise& noise) const {
  IntegerMatrix whole = heed::to_int4(values, weight.shape(), group_);
  if (const ProductInputs* const inputs = inputs_of(weight)) {
    Backend& backend = calibrated_->backend;
    const auto exact = packed_f32(backend, values, whole.shape);
    Noise product = product_noise(backend, inputs->sample(), *exact, *backend.pack(whole.in_small_groups().as_int4()));
    IntegerMatrix compensated =
        to_compensated_int4(calibrated_->pool, values, weight.shape(), group_, inputs->squares());
    const Noise other =
        product_noise(backend, inputs->sample(), *exact, *backend.pack(compensated.in_small_groups().as_int4()));
    if (other.noise < product.noise) {
      whole = std::move(compensated);
      product = other;
      matrix.compensated = Compensated::yes;
    }
    matrix.product_signal_to_noise = product.decibels();
  }
  noise.count(values, whole);
  return written_int4(whole);
}

}  // namespace heed
