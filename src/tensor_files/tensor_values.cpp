#include "tensor_files/tensor_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/errors.h"
#include "tensor/float16.h"

namespace heed {

void convert_floats(const TensorFile& file, const StoredTensor& tensor, std::span<const std::byte> bytes,
                    std::span<float> to) {
  // Copied: files from other programs need not align their tensors.
  if (tensor.type == StoredType::f32) {
    std::memcpy(to.data(), bytes.data(), bytes.size());
  } else {
    std::vector<uint16_t> halves(to.size());
    std::memcpy(halves.data(), bytes.data(), bytes.size());
    if (tensor.type == StoredType::f16) {
      std::ranges::transform(halves, to.begin(), widened_half);
    } else {
      std::ranges::transform(halves, to.begin(), widened_bf16);
    }
  }
  require<FormatError>(std::ranges::all_of(to, [](float x) { return std::isfinite(x); }), file.path().string(),
                       "the weights of '{}' hold values that are not finite", tensor.name);
}

bool is_float(StoredType type) {
  return type == StoredType::f32 || type == StoredType::bf16 || type == StoredType::f16;
}

// A few megabytes at a time: the file may have to put rows together.
void read_floats(const TensorFile& file, const StoredTensor& tensor, std::span<float> to) {
  constexpr int64_t kBytesAtOnce = 4 << 20;
  const int64_t at_once = std::max<int64_t>(1, kBytesAtOnce / std::max<int64_t>(1, tensor.row_bytes()));
  const int64_t row = tensor.rows() == 0 ? 0 : tensor.elements() / tensor.rows();
  std::vector<std::byte> buffer;
  for (int64_t first = 0; first < tensor.rows(); first += at_once) {
    const int64_t count = std::min(at_once, tensor.rows() - first);
    convert_floats(file, tensor, file.rows(tensor, {first, count}, buffer),
                   to.subspan(static_cast<size_t>(first * row), static_cast<size_t>(count * row)));
  }
  file.give_back(tensor.bytes);
}

std::vector<float> read_floats(const TensorFile& file, const StoredTensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  read_floats(file, tensor, values);
  return values;
}

}  // namespace heed
