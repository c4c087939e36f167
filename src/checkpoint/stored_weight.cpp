#include "checkpoint/stored_weight.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "checkpoint/half.h"
#include "checkpoint/weights.h"

namespace heed {
namespace {

constexpr std::array<std::pair<WeightType, StoredType>, 4> kTypes{{{WeightType::f32, StoredType::f32},
                                                                   {WeightType::bf16, StoredType::bf16},
                                                                   {WeightType::f16, StoredType::f16},
                                                                   {WeightType::int8, StoredType::i8}}};

float from_bf16(uint16_t bits) {
  bf16 x;
  x.bits = bits;
  return static_cast<float>(x);
}

std::vector<float> read_scales(const SafeTensors& file, const StoredTensor& tensor) {
  std::vector<float> scales = read_weight(file, tensor);
  require<FormatError>(std::ranges::all_of(scales, [](float x) { return x >= 0.0F; }), file.path().string(),
                       "'{}' holds a scale below 0", tensor.name);
  return scales;
}

}  // namespace

std::string scales_of(const std::string& weight) { return weight + ".scales"; }

std::string name_of_stored(StoredType type) {
  const auto it = std::ranges::find(kTypes, type, &std::pair<WeightType, StoredType>::second);
  return std::string(it == kTypes.end() ? name_of(type) : name_of(it->first));
}

StoredType stored_as(WeightType type) {
  return std::ranges::find(kTypes, type, &std::pair<WeightType, StoredType>::first)->second;
}

int64_t stored_bytes(const StoredTensor& tensor, const SafeTensors& file) {
  const StoredTensor* const scales = file.find(scales_of(tensor.name));
  return static_cast<int64_t>(tensor.bytes.size() + (scales == nullptr ? 0 : scales->bytes.size()));
}

void require_stored(const SafeTensors& file, const Weight& weight) {
  const std::string where = file.path().string();
  const StoredTensor* const tensor = file.find(weight.name());
  require<FormatError>(tensor != nullptr, where, "there is no tensor '{}', which the model has as F32{}", weight.name(),
                       weight.shape());
  const bool readable = tensor->type == StoredType::f32 ||
                        (weight.use() != WeightUse::vector &&
                         std::ranges::any_of(kTypes, [&](const auto& pair) { return pair.second == tensor->type; }));
  require<FormatError>(readable && tensor->shape == stored_shape(weight.shape()), where, "{}, but the model has F32{}",
                       tensor->text(), weight.shape());
  if (tensor->type != StoredType::i8) {
    return;
  }
  const StoredTensor* const scales = file.find(scales_of(weight.name()));
  require<FormatError>(scales != nullptr, where, "there is no tensor '{}', which belongs to {}",
                       scales_of(weight.name()), tensor->text());
  require<FormatError>(scales->type == StoredType::f32 && scales->shape == std::vector<int64_t>{weight.shape().rows()},
                       where, "{}, but {} needs F32[{}]", scales->text(), tensor->text(), weight.shape().rows());
}

StoredWeight::StoredWeight(const SafeTensors& file, const Weight& weight)
    : file_(file), tensor_(file.at(weight.name())), shape_(weight.shape()) {
  if (is_int8()) {
    scales_ = read_scales(file, file.at(scales_of(weight.name())));
  }
}

std::span<const std::byte> StoredWeight::bytes_of_rows(int64_t first, int64_t count) {
  file_.give_back(at_hand_);
  const auto row_bytes = static_cast<size_t>(shape_.columns() * size_of(tensor_.type));
  at_hand_ = tensor_.bytes.subspan(static_cast<size_t>(first) * row_bytes, static_cast<size_t>(count) * row_bytes);
  return at_hand_;
}

View StoredWeight::floats(int64_t first, int64_t count) {
  const std::span<const std::byte> bytes = bytes_of_rows(first, count);
  floats_.resize(static_cast<size_t>(count * shape_.columns()));
  // Copied: files from other programs need not align their tensors.
  if (tensor_.type == StoredType::f32) {
    std::memcpy(floats_.data(), bytes.data(), bytes.size());
  } else {
    const auto convert = tensor_.type == StoredType::f16 ? from_half : from_bf16;
    halves_.resize(floats_.size());
    std::memcpy(halves_.data(), bytes.data(), bytes.size());
    std::ranges::transform(halves_, floats_.begin(), convert);
  }
  require<FormatError>(std::ranges::all_of(floats_, [](float x) { return std::isfinite(x); }), file_.path().string(),
                       "the weights of '{}' hold values that are not finite", tensor_.name);
  return {floats_.data(), DType::f32, count, shape_.columns(), shape_.columns()};
}

View StoredWeight::int8_rows(int64_t first, int64_t count) {
  const std::span<const std::byte> bytes = bytes_of_rows(first, count);
  int8_.resize(bytes.size());
  std::memcpy(int8_.data(), bytes.data(), bytes.size());
  require<FormatError>(std::ranges::find(int8_, INT8_MIN) == int8_.end(), file_.path().string(),
                       "'{}' holds -128, but its values are within +-127", tensor_.name);
  return {int8_.data(), DType::i8, count, shape_.columns(), shape_.columns()};
}

Int8Matrix StoredWeight::int8() {
  const auto rows = static_cast<int64_t>(scales_.size());
  return {shape_, [this](int64_t first, int64_t count) { return int8_rows(first, count); },
          View(scales_.data(), DType::f32, 1, rows, rows)};
}

}  // namespace heed
