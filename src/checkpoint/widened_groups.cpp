#include "checkpoint/widened_groups.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/stored_panels.h"
#include "checkpoint/stored_weight.h"
#include "kernels/integer_rows.h"
#include "tensor/float16.h"
#include "tensor/half.h"
#include "tensor_files/safetensors.h"

namespace heed {
namespace {

static_assert(kInt8Group == kInt4Group);
constexpr int64_t kGroup = kInt8Group;

// How many values a byte holds.
int64_t values_in_byte(StoredType type) { return type == StoredType::u8 ? 2 : 1; }

// Rows of integers that have whole groups, each with a scale in f16.
bool is_in_groups(const TensorFile& file, const StoredTensor& tensor) {
  const bool holds_integers = tensor.type == StoredType::i8 || tensor.type == StoredType::u8;
  const StoredTensor* const scales = holds_integers ? file.find(scales_of(tensor.name)) : nullptr;
  if (scales == nullptr || scales->type != StoredType::f16 || in_panels(file, tensor.type) ||
      tensor.shape.size() != 2) {
    return false;
  }
  const int64_t rows = tensor.shape[0], columns = tensor.shape[1] * values_in_byte(tensor.type);
  return columns % kGroup == 0 && scales->shape == std::vector<int64_t>{rows, columns / kGroup};
}

int value_at(std::span<const std::byte> values, StoredType type, size_t i) {
  return type == StoredType::i8 ? std::to_integer<int8_t>(values[i])
                                : static_cast<int>(std::to_integer<unsigned>(values[i / 2]) >> (4 * (i % 2)) & 15U) - 8;
}

// For what reads or changes all of a model's floats and takes no other integers. Groups are what blocks of other
// programs' files (q8_0, q4_0) become, so they are read as those blocks are, in f16: both have the same checksum, which
// older adapters recorded. WidenedFile (widened_weights.cpp) is for adapters, which take every packed form: only the
// model has the shapes of what is in panels, and in f32 a scale times an integer is what training multiplies.
class WidenedGroups final : public TensorFile {
 public:
  // Without metadata: a checksum of other bytes would not be the tensors'.
  explicit WidenedGroups(std::shared_ptr<const TensorFile> file) : TensorFile(file->path()), file_(std::move(file)) {
    std::set<std::string> scales;
    for (const StoredTensor& tensor : file_->tensors()) {
      if (is_in_groups(*file_, tensor)) {
        scales.insert(scales_of(tensor.name));
      }
    }
    for (const StoredTensor& tensor : file_->tensors()) {
      if (scales.contains(scales_of(tensor.name))) {
        add({.name = tensor.name,
             .type = StoredType::f16,
             .shape = {tensor.shape[0], tensor.shape[1] * values_in_byte(tensor.type)}});
      } else if (!scales.contains(tensor.name)) {
        add(tensor);
      }
    }
  }

  std::span<const std::byte> rows(const StoredTensor& tensor, RowSpan rows,
                                  std::vector<std::byte>& buffer) const override {
    const StoredTensor& stored = file_->at(tensor.name);
    if (stored.type == tensor.type) {
      return file_->rows(stored, rows, buffer);
    }
    const StoredTensor& scales = file_->at(scales_of(tensor.name));
    std::vector<std::byte> of_values, of_scales;
    const std::span<const std::byte> values = file_->rows(stored, rows, of_values);
    const std::span<const std::byte> halves = file_->rows(scales, rows, of_scales);
    buffer.resize(static_cast<size_t>(rows.count * tensor.row_bytes()));
    for (size_t i = 0; i < buffer.size() / sizeof(uint16_t); ++i) {
      uint16_t scale = 0;
      std::memcpy(&scale, halves.data() + i / kGroup * sizeof scale, sizeof scale);
      const float value = widened_half(scale) * static_cast<float>(value_at(values, stored.type, i));
      require<FormatError>(std::abs(value) <= kLargestHalf, path().string(), "{} holds values beyond f16",
                           stored.text());
      const uint16_t narrowed = narrowed_half(value);
      std::memcpy(buffer.data() + i * sizeof narrowed, &narrowed, sizeof narrowed);
    }
    file_->give_back(values);
    return buffer;
  }
  void give_back(std::span<const std::byte> bytes) const override { file_->give_back(bytes); }

 private:
  std::shared_ptr<const TensorFile> file_;
};

}  // namespace

std::shared_ptr<const TensorFile> with_widened_groups(std::shared_ptr<const TensorFile> file) {
  if (std::ranges::none_of(file->tensors(), [&](const StoredTensor& tensor) { return is_in_groups(*file, tensor); })) {
    return file;
  }
  verify_checksum(*file);
  return std::make_shared<WidenedGroups>(std::move(file));
}

}  // namespace heed
