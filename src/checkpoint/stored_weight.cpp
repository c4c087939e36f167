#include "checkpoint/stored_weight.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "checkpoint/stored_panels.h"
#include "checkpoint/weights.h"
#include "kernels/integer_panels.h"
#include "tensor_files/tensor_values.h"

namespace heed {
namespace {

constexpr std::array<std::pair<WeightType, StoredType>, 7> kTypes{{{WeightType::f32, StoredType::f32},
                                                                   {WeightType::bf16, StoredType::bf16},
                                                                   {WeightType::f16, StoredType::f16},
                                                                   {WeightType::int8, StoredType::i8},
                                                                   {WeightType::int8_static, StoredType::i8},
                                                                   {WeightType::int8_groups, StoredType::i8},
                                                                   // Two values in each byte, both 8 too large.
                                                                   {WeightType::int4, StoredType::u8}}};

const std::vector<StoredType> kScalesOfInt4{StoredType::bf16, StoredType::f16};  // f16: as a GGUF's q4_0 has them

// What a file holds of a matrix of one type.
struct StoredForm {
  std::vector<int64_t> values, scales;  // shapes; no scales: empty
  std::vector<StoredType> types_of_scales;
  std::vector<int64_t> fewer_scales;  // where groups may be larger; empty: they may not
  std::vector<int64_t> sums;          // of int8 in panels
};

StoredForm form_in_panels(WeightType type, const Shape& shape) {
  const std::vector<int64_t> rows{padded_rows(shape.rows())};
  switch (type) {
    case WeightType::int8:
      return {.values = int8_panel_shape(shape), .scales = rows, .types_of_scales = {StoredType::f32}, .sums = rows};
    case WeightType::int8_groups:
      return {.values = int8_panel_shape(shape),
              .scales = group_panel_scales_shape(shape, kInt8Group),
              .types_of_scales = {StoredType::f16}};
    case WeightType::int4:
      break;
    default:
      return {.values = half_panel_shape(shape)};
  }
  StoredForm form{.values = int4_panel_shape(shape),
                  .scales = group_panel_scales_shape(shape, kInt4Group),
                  .types_of_scales = kScalesOfInt4};
  if (shape.columns() % kLargeInt4Group == 0) {
    form.fewer_scales = group_panel_scales_shape(shape, kLargeInt4Group);
  }
  return form;
}

bool is_weight_type(StoredType type) {
  return std::ranges::find(kTypes, type, &std::pair<WeightType, StoredType>::second) != kTypes.end();
}

// The type of a stored tensor; int8 for int8-static, too.
WeightType type_of(const TensorFile& file, const StoredTensor& tensor) {
  return has_groups(file, tensor)
             ? WeightType::int8_groups
             : std::ranges::find(kTypes, tensor.type, &std::pair<WeightType, StoredType>::second)->first;
}

StoredForm form_of(const TensorFile& file, const StoredTensor& tensor, const Shape& shape) {
  const int64_t rows = shape.rows(), columns = shape.columns();
  const WeightType type = type_of(file, tensor);
  if (in_panels(file, tensor.type)) {
    return form_in_panels(type, shape);
  }
  switch (type) {
    case WeightType::int8:
      return {stored_shape(shape), {rows}, {StoredType::f32}};
    case WeightType::int8_groups:
      return {stored_shape(shape), {rows, columns / kInt8Group}, {StoredType::f16}};
    case WeightType::int4:
      return {{rows, columns / 2},
              {rows, columns / kInt4Group},
              kScalesOfInt4,
              columns % kLargeInt4Group == 0 ? std::vector{rows, columns / kLargeInt4Group} : std::vector<int64_t>{}};
    default:
      return {stored_shape(shape), {}};
  }
}

}  // namespace

std::string input_scale_of(const std::string& weight) { return weight + ".input_scale"; }

std::string name_of_stored(const StoredTensor& tensor, const TensorFile& file) {
  if (tensor.type == StoredType::i8 && file.find(input_scale_of(tensor.name)) != nullptr) {
    return std::string(name_of(WeightType::int8_static));
  }
  return std::string(is_weight_type(tensor.type) ? name_of(type_of(file, tensor)) : name_of(tensor.type));
}

StoredType stored_as(WeightType type) {
  return std::ranges::find(kTypes, type, &std::pair<WeightType, StoredType>::first)->second;
}

int64_t stored_bytes(const StoredTensor& tensor, const TensorFile& file) {
  int64_t bytes = tensor.elements() * size_of(tensor.type);
  for (const std::string& name : {scales_of(tensor.name), input_scale_of(tensor.name), sums_of(tensor.name)}) {
    const StoredTensor* const more = file.find(name);
    bytes += more == nullptr ? 0 : more->elements() * size_of(more->type);
  }
  return bytes;
}

float read_input_scale(const TensorFile& file, const StoredTensor& matrix) {
  const StoredTensor* const input = file.find(input_scale_of(matrix.name));
  if (input == nullptr) {
    return 0.0F;
  }
  std::vector<float> scale(static_cast<size_t>(input->elements()));
  read_floats(file, *input, scale);
  // Its inverse is finite, too.
  require<FormatError>(scale[0] >= std::numeric_limits<float>::min(), file.path().string(),
                       "'{}' holds {}, which is not a scale above 0", input->name, scale[0]);
  return scale[0];
}

void require_stored(const TensorFile& file, const Weight& weight) {
  const std::string where = file.path().string();
  const StoredTensor* const tensor = file.find(weight.name());
  require<FormatError>(tensor != nullptr, where, "there is no tensor '{}', which the model has as F32{}", weight.name(),
                       weight.shape());
  const int64_t group = tensor->type == StoredType::u8 ? kInt4Group : has_groups(file, *tensor) ? kInt8Group : 1;
  const bool readable =
      tensor->type == StoredType::f32 ||
      (weight.use() != WeightUse::vector && is_weight_type(tensor->type) && weight.shape().columns() % group == 0);
  const StoredForm form = readable ? form_of(file, *tensor, weight.shape()) : StoredForm();
  require<FormatError>(readable && tensor->shape == form.values, where, "{}, but the model has F32{}", tensor->text(),
                       weight.shape());
  if (form.scales.empty()) {
    return;
  }
  const StoredTensor* const scales = file.find(scales_of(weight.name()));
  require<FormatError>(scales != nullptr, where, "there is no tensor '{}', which belongs to {}",
                       scales_of(weight.name()), tensor->text());
  const bool fits = scales->shape == form.scales || (!form.fewer_scales.empty() && scales->shape == form.fewer_scales);
  require<FormatError>(fits && std::ranges::count(form.types_of_scales, scales->type) > 0, where,
                       "{}, but {} needs {}[{}]", scales->text(), tensor->text(), name_of(form.types_of_scales.front()),
                       fmt::join(form.scales, ", "));
  if (!form.sums.empty()) {
    const StoredTensor* const sums = file.find(sums_of(weight.name()));
    require<FormatError>(sums != nullptr, where, "there is no tensor '{}', which belongs to {}", sums_of(weight.name()),
                         tensor->text());
    require<FormatError>(sums->type == StoredType::i32 && sums->shape == form.sums, where, "{}, but {} needs I32[{}]",
                         sums->text(), tensor->text(), fmt::join(form.sums, ", "));
  }
  if (const StoredTensor* const input = file.find(input_scale_of(weight.name()));
      tensor->type == StoredType::i8 && input != nullptr) {
    require<FormatError>(input->type == StoredType::f32 && input->shape == std::vector<int64_t>{1}, where,
                         "{}, but {} has one input scale, F32[1]", input->text(), tensor->text());
  }
}

StoredWeight::StoredWeight(const TensorFile& file, const Weight& weight)
    : StoredWeight(file, weight, {0, weight.shape().rows()}) {}

StoredWeight::StoredWeight(const TensorFile& file, const Weight& weight, RowSpan rows)
    : file_(file),
      tensor_(file.at(weight.name())),
      shape_(weight.shape()),
      rows_(rows),
      has_groups_(has_groups(file, tensor_)) {
  if (tensor_.type == StoredType::i8 || tensor_.type == StoredType::u8) {
    const StoredTensor& scales = file.at(scales_of(weight.name()));
    scales_.resize(static_cast<size_t>(rows.count * (scales.elements() / scales.rows())));
    convert_floats(file, scales, file.rows(scales, rows, buffer_), scales_);
    file.give_back(scales.bytes);
    require<FormatError>(tensor_.type == StoredType::u8 || has_groups_ ||
                             std::ranges::all_of(scales_, [](float x) { return x >= 0.0F; }),
                         file.path().string(), "'{}' holds a scale below 0", scales.name);
    if (tensor_.type == StoredType::u8) {
      scale_type_ = half_type_of(scales);
      repeat_scales();
    } else if (!has_groups_) {
      input_scale_ = read_input_scale(file, tensor_);
    }
  }
}

// In memory all groups have kInt4Group values.
void StoredWeight::repeat_scales() {
  const auto groups = static_cast<size_t>(rows_.count * shape_.columns() / kInt4Group);
  if (scales_.size() < groups) {
    std::vector<float> repeated;
    repeated.reserve(groups);
    for (const float scale : scales_) {
      repeated.insert(repeated.end(), kLargeInt4Group / kInt4Group, scale);
    }
    scales_ = std::move(repeated);
  }
}

void StoredWeight::load_into(Backend& backend, DType precision, Weight& weight) {
  const int64_t rows = shape_.rows(), scales = static_cast<int64_t>(scales_.size()) / std::max<int64_t>(1, rows);
  switch (tensor_.type) {
    case StoredType::i8:
      if (has_groups_) {
        weight.store(backend,
                     Int8GroupMatrix{shape_, [this](int64_t first, int64_t count) { return int8_rows(first, count); },
                                     ConstView(scales_.data(), DType::f32, rows, scales, scales)},
                     precision);
        break;
      }
      weight.store(backend, Int8Matrix{shape_, [this](int64_t first, int64_t count) { return int8_rows(first, count); },
                                       ConstView(scales_.data(), DType::f32, 1, rows, rows), input_scale_});
      break;
    case StoredType::u8:
      weight.store(backend, Int4Matrix{shape_, [this](int64_t first, int64_t count) { return int4_rows(first, count); },
                                       ConstView(scales_.data(), DType::f32, rows, scales, scales), scale_type_});
      break;
    default: {
      const DType stored = tensor_.type == StoredType::bf16 ? DType::bf16 : precision;
      weight.store(backend, {.weights = stored, .inputs = precision},
                   [this](int64_t first, int64_t count) { return floats(first, count); });
    }
  }
}

void StoredWeight::read_integers(std::span<float> to) {
  const HostView<const int8_t> values = host<int8_t>(
      tensor_.type == StoredType::u8 ? int4_rows(rows_.first, rows_.count) : int8_rows(rows_.first, rows_.count));
  const int64_t columns = shape_.columns();
  const int64_t of_row = static_cast<int64_t>(scales_.size()) / rows_.count, group = columns / of_row;
  for (int64_t r = 0; r < rows_.count; ++r) {
    const float* const scales = scales_.data() + r * of_row;
    for (int64_t c = 0; c < columns; ++c) {
      to[static_cast<size_t>(r * columns + c)] = scales[c / group] * static_cast<float>(values(r, c));
    }
  }
}

// A vector has one row in a weight, and a row for each element in a file.
std::span<const std::byte> StoredWeight::bytes_of_rows(RowSpan rows) {
  const int64_t stored_rows = tensor_.rows() / shape_.rows();
  const RowSpan stored{rows.first * stored_rows, rows.count * stored_rows};
  // All of them: reading a page may have brought back some before it.
  file_.give_back(
      tensor_.bytes.first(std::min(tensor_.bytes.size(), static_cast<size_t>(stored.first * tensor_.row_bytes()))));
  return file_.rows(tensor_, stored, buffer_);
}

ConstView StoredWeight::floats(int64_t first, int64_t count) {
  floats_.resize(static_cast<size_t>(count * shape_.columns()));
  convert_floats(file_, tensor_, bytes_of_rows({first, count}), floats_);
  return {floats_.data(), DType::f32, count, shape_.columns(), shape_.columns()};
}

ConstView StoredWeight::int8_rows(int64_t first, int64_t count) {
  const std::span<const std::byte> bytes = bytes_of_rows({first, count});
  require<FormatError>(has_groups_ || std::memchr(bytes.data(), INT8_MIN, bytes.size()) == nullptr,
                       file_.path().string(), "'{}' holds -128, but its values are within +-127", tensor_.name);
  return {bytes.data(), DType::i8, count, shape_.columns(), shape_.columns()};
}

ConstView StoredWeight::int4_rows(int64_t first, int64_t count) {
  const std::span<const std::byte> bytes = bytes_of_rows({first, count});
  integers_.resize(2 * bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto both = std::to_integer<int>(bytes[i]);
    integers_[2 * i] = static_cast<int8_t>((both & 15) - 8);
    integers_[2 * i + 1] = static_cast<int8_t>((both >> 4) - 8);
  }
  return {integers_.data(), DType::i8, count, shape_.columns(), shape_.columns()};
}

}  // namespace heed
