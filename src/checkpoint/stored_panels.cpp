#include "checkpoint/stored_panels.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/text/excerpt.h"
#include "checkpoint/stored_weight.h"
#include "kernels/half_panels.h"
#include "kernels/integer_panels.h"
#include "tensor_files/tensor_values.h"

namespace heed {
namespace {

// What the metadata call a layout, and the one that this program reads.
struct PanelLayout {
  std::string_view key, name, matrices;
};
constexpr PanelLayout kIntegerPanels{"heed_layout", "panels-16", "integers"};
constexpr PanelLayout kHalfPanels{"heed_half_layout", "pairs-32", "16-bit floats"};

const PanelLayout* layout_of(StoredType type) {
  switch (type) {
    case StoredType::i8:
    case StoredType::u8:
      return &kIntegerPanels;
    case StoredType::bf16:
    case StoredType::f16:
      return &kHalfPanels;
    default:
      return nullptr;
  }
}

// A tensor's elements where they are. FormatError unless they begin at a multiple of `alignment`.
template <class T>
std::span<const T> elements_of(const TensorFile& file, const StoredTensor& tensor, size_t alignment = sizeof(T)) {
  require<FormatError>(reinterpret_cast<uintptr_t>(tensor.bytes.data()) % alignment == 0, file.path().string(),
                       "{} does not begin at a multiple of {} bytes", tensor.text(), alignment);
  return {reinterpret_cast<const T*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(T)};
}

// All of these bits set: infinite, or not a number.
constexpr uint16_t exponent_of(HalfType type) { return type == HalfType::f16 ? 0x7c00 : 0x7f80; }

// As a signed integer, which SSE2 compares.
template <size_t count>
int16_t largest_magnitude(std::span<const uint16_t, count> values) {
  int16_t largest = 0;
  for (const uint16_t bits : values) {
    largest = std::max(largest, static_cast<int16_t>(bits & 0x7fff));
  }
  return largest;
}

// The bits of a number that is not finite are as large as integers as the exponent's are, or larger. A thousand at a
// time, in whose loop the compiler takes whole vectors.
bool all_finite(std::span<const uint16_t> values, uint16_t exponent) {
  constexpr size_t kAtOnce = 1024;
  for (; values.size() >= kAtOnce; values = values.subspan(kAtOnce)) {
    if (largest_magnitude(values.first<kAtOnce>()) >= exponent) {
      return false;
    }
  }
  return largest_magnitude(values) < exponent;
}

// The elements of some of a tensor's rows.
template <class T>
std::span<const T> elements_of_rows(const TensorFile& file, const StoredTensor& tensor, RowSpan rows) {
  const int64_t of_row = tensor.elements() / tensor.rows();
  return elements_of<T>(file, tensor)
      .subspan(static_cast<size_t>(rows.first * of_row), static_cast<size_t>(rows.count * of_row));
}

// The panels, of so many rows each, that have some rows of a matrix.
RowSpan panels_with(RowSpan rows, int64_t panel_rows) {
  const int64_t first = rows.first / panel_rows;
  return {first, ceil_div(rows.first + rows.count, panel_rows) - first};
}

void require_finite_scales(const TensorFile& file, const StoredTensor& scales, RowSpan rows) {
  require<FormatError>(all_finite(elements_of_rows<uint16_t>(file, scales, panels_with(rows, kPanelRows)),
                                  exponent_of(half_type_of(scales))),
                       file.path().string(), "'{}' holds scales that are not finite", scales.name);
}

void require_scales_of_rows(const TensorFile& file, const StoredTensor& scales, RowSpan rows) {
  require<FormatError>(std::ranges::all_of(elements_of_rows<float>(file, scales, rows),
                                           [](float x) { return x >= 0.0F && std::isfinite(x); }),
                       file.path().string(), "'{}' holds a scale below 0, or one that is not finite", scales.name);
}

void require_finite_halves(const TensorFile& file, const StoredTensor& values, RowSpan rows) {
  require<FormatError>(all_finite(elements_of_rows<uint16_t>(file, values, panels_with(rows, kHalfPanelRows)),
                                  exponent_of(half_type_of(values))),
                       file.path().string(), "the weights of '{}' hold values that are not finite", values.name);
}

// FormatError unless these rows of a matrix are numbers. Integers are, but their scales need not be.
void require_numbers(const TensorFile& file, const Weight& weight, RowSpan rows) {
  const StoredTensor& values = file.at(weight.name());
  if (is_float(values.type)) {
    require_finite_halves(file, values, rows);
  } else if (const StoredTensor& scales = file.at(scales_of(weight.name()));
             values.type == StoredType::u8 || has_groups(file, values)) {
    require_finite_scales(file, scales, rows);
  } else {
    require_scales_of_rows(file, scales, rows);
  }
}

Int8Panels int8_panels(const std::shared_ptr<const TensorFile>& file, const Weight& weight) {
  const StoredTensor &values = file->at(weight.name()), &scales = file->at(scales_of(weight.name()));
  Int8Panels panels{.shape = weight.shape(), .input_scale = read_input_scale(*file, values), .memory = file};
  panels.words = elements_of<uint32_t>(*file, values, kPanelAlignment).data();
  panels.sums = elements_of<int32_t>(*file, file->at(sums_of(weight.name()))).data();
  panels.scales = elements_of<float>(*file, scales).data();
  return panels;
}

Int8GroupPanels int8_group_panels(const std::shared_ptr<const TensorFile>& file, const Weight& weight) {
  Int8GroupPanels panels{.shape = weight.shape(), .memory = file};
  panels.words = elements_of<uint32_t>(*file, file->at(weight.name()), kPanelAlignment).data();
  panels.scales = elements_of<uint16_t>(*file, file->at(scales_of(weight.name()))).data();
  return panels;
}

Int4Panels int4_panels(const std::shared_ptr<const TensorFile>& file, const Weight& weight) {
  const StoredTensor &values = file->at(weight.name()), &scales = file->at(scales_of(weight.name()));
  Int4Panels panels{.shape = weight.shape(),
                    .scale_type = half_type_of(scales),
                    .group = weight.shape().columns() / scales.shape[1],
                    .memory = file};
  panels.words = elements_of<uint32_t>(*file, values, kPanelAlignment).data();
  panels.scales = elements_of<uint16_t>(*file, scales).data();
  return panels;
}

HalfPanels half_panels(const std::shared_ptr<const TensorFile>& file, const Weight& weight) {
  const StoredTensor& values = file->at(weight.name());
  HalfPanels panels{.shape = weight.shape(), .type = half_type_of(values), .memory = file};
  panels.words = elements_of<uint32_t>(*file, values, kPanelAlignment).data();
  return panels;
}

// value(row, column)
template <class Value>
void read_values(const Weight& weight, RowSpan rows, std::span<float> to, const Value& value) {
  const int64_t columns = weight.shape().columns();
  for (int64_t r = 0; r < rows.count; ++r) {
    float* const row = to.data() + r * columns;
    for (int64_t c = 0; c < columns; ++c) {
      row[c] = value(rows.first + r, c);
    }
  }
}

}  // namespace

bool in_panels(const TensorFile& file, StoredType type) {
  const PanelLayout* const layout = layout_of(type);
  const auto found = layout == nullptr ? file.metadata().end() : file.metadata().find(std::string(layout->key));
  if (found == file.metadata().end()) {
    return false;
  }
  require<FormatError>(found->second == layout->name, file.path().string(),
                       "its {} have the layout '{}', but this program reads '{}': quantize the model again",
                       layout->matrices, shown(found->second), layout->name);
  return true;
}

Metadata mark_of_panels(StoredType type) {
  const PanelLayout* const layout = layout_of(type);
  return layout == nullptr ? Metadata() : Metadata{{std::string(layout->key), std::string(layout->name)}};
}

std::string sums_of(const std::string& weight) { return weight + ".sums"; }

HalfType half_type_of(const StoredTensor& tensor) {
  return tensor.type == StoredType::f16 ? HalfType::f16 : HalfType::bf16;
}

std::vector<int64_t> int8_panel_shape(const Shape& shape) {
  return {panels_of(shape.rows()), steps_of_int8(shape.columns()), kPanelRows, 4};
}

std::vector<int64_t> int4_panel_shape(const Shape& shape) {
  return {panels_of(shape.rows()), steps_of_int4(shape.columns()), kPanelRows, 4};
}

std::vector<int64_t> group_panel_scales_shape(const Shape& shape, int64_t group) {
  return {panels_of(shape.rows()), shape.columns() / group, kPanelRows};
}

std::vector<int64_t> half_panel_shape(const Shape& shape) {
  return {half_panels_of(shape.rows()), steps_of_halves(shape.columns()), kHalfPanelRows, 2};
}

void hold_panels(const std::shared_ptr<const TensorFile>& file, Backend& backend, DType inputs, Weight& weight) {
  require_numbers(*file, weight, {0, padded_rows(weight.shape().rows())});
  switch (file->at(weight.name()).type) {
    case StoredType::i8:
      if (has_groups(*file, file->at(weight.name()))) {
        weight.store(backend, int8_group_panels(file, weight), inputs);
      } else {
        weight.store(backend, int8_panels(file, weight));
      }
      break;
    case StoredType::u8:
      weight.store(backend, int4_panels(file, weight));
      break;
    default:
      weight.store(backend, half_panels(file, weight), inputs);
  }
}

void read_panel_rows(const std::shared_ptr<const TensorFile>& file, const Weight& weight, RowSpan rows,
                     std::span<float> to) {
  require_numbers(*file, weight, rows);
  const auto scaled = [&](const auto& panels) {
    read_values(weight, rows, to,
                [&](int64_t r, int64_t c) { return panels.scale(r, c) * static_cast<float>(panels.value(r, c)); });
  };
  switch (file->at(weight.name()).type) {
    case StoredType::i8:
      if (has_groups(*file, file->at(weight.name()))) {
        scaled(int8_group_panels(file, weight));
      } else {
        const Int8Panels panels = int8_panels(file, weight);
        read_values(weight, rows, to,
                    [&](int64_t r, int64_t c) { return panels.scales[r] * static_cast<float>(panels.value(r, c)); });
      }
      break;
    case StoredType::u8:
      scaled(int4_panels(file, weight));
      break;
    default: {
      const HalfPanels panels = half_panels(file, weight);
      read_values(weight, rows, to, [&](int64_t r, int64_t c) { return panels.value(r, c); });
    }
  }
}

}  // namespace heed
