#include "interchange/renamed_weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "base/errors.h"
#include "interchange/foreign_layout.h"
#include "models/any_model.h"
#include "tensor/dtype.h"
#include "tensor/half.h"
#include "tensor_files/tensor_values.h"

namespace heed {
namespace {

using FloatValues = std::vector<float>;

template <class Element, class Convert>
std::vector<std::byte> converted(std::span<const float> values, Convert convert) {
  std::vector<std::byte> bytes(values.size() * sizeof(Element));
  for (size_t i = 0; i < values.size(); ++i) {
    const Element element = convert(values[i]);
    std::memcpy(bytes.data() + i * sizeof(Element), &element, sizeof(Element));
  }
  return bytes;
}

// Whether the value rounds to a finite f16: the step above the largest would be 32.
bool reaches(float value) { return std::abs(value) < kLargestHalf + 16.0F; }

bool is_exact(StoredType type, float value) {
  switch (type) {
    case StoredType::bf16:
      return static_cast<float>(bf16(value)) == value;
    case StoredType::f16:
      return reaches(value) && from_half(half_from(value)) == value;
    default:
      return true;
  }
}

FloatValues rows_of(const TensorFile& stored, const WeightRows& wanted) {
  const StoredTensor& tensor = stored.at(wanted.weight->name());
  const int64_t row = tensor.elements() / std::max<int64_t>(1, tensor.rows());
  FloatValues values(static_cast<size_t>(wanted.count * row));
  std::vector<std::byte> buffer;
  convert_floats(stored, tensor, stored.rows(tensor, {wanted.first, wanted.count}, buffer), values);
  stored.give_back(tensor.bytes);
  return values;
}

double table_scale(const ModelConfig& config) {
  return config.embedding_scale == EmbeddingScale::sqrt_model ? std::sqrt(static_cast<double>(config.model)) : 1.0;
}

// The tensor's values, row by row.
FloatValues values_of(const NamedTensor& tensor, const ModelConfig& config, const TensorFile& stored) {
  const ForeignLayout layout(config);
  const int64_t rows = tensor.count(), columns = tensor.is_vector() ? 1 : tensor.columns();
  const bool transposed = tensor.form == ForeignForm::transposed;
  FloatValues values(static_cast<size_t>(rows * columns));
  int64_t row = 0;
  for (const WeightRows& part : tensor.rows) {
    const FloatValues own = rows_of(stored, part);
    for (int64_t i = 0; i < part.count; ++i, ++row) {
      const float* const from = own.data() + i * columns;
      const int64_t to = layout.row_in(tensor.form, row, rows);
      for (int64_t column = 0; column < columns; ++column) {
        values[static_cast<size_t>(transposed ? column * rows + to : to * columns + column)] = from[column];
      }
    }
  }
  if (tensor.form == ForeignForm::scaled_by_model) {
    const double scale = table_scale(config);
    std::ranges::for_each(values, [&](float& x) { x = static_cast<float>(x * scale); });
  }
  return values;
}

// The rows that the other program's tensor lacks.
void require_zeros(const NamedTensor& tensor, const TensorFile& stored, const std::string& where) {
  const Weight& weight = *tensor.rows.front().weight;
  const FloatValues rows = rows_of(stored, {&weight, tensor.rows.front().first - tensor.zero_rows, tensor.zero_rows});
  require<ConfigError>(std::ranges::all_of(rows, [](float x) { return x == 0.0F; }), where,
                       "'{}' has values in row {}, but '{}' has only the rows after it", weight.name(),
                       tensor.rows.front().first - tensor.zero_rows, tensor.name);
}

std::vector<int64_t> shape_of(const NamedTensor& tensor) {
  const int64_t rows = tensor.count();
  if (tensor.is_vector()) {
    return tensor.form == ForeignForm::single_row ? std::vector<int64_t>{1, rows} : std::vector<int64_t>{rows};
  }
  return tensor.form == ForeignForm::transposed ? std::vector{tensor.columns(), rows}
                                                : std::vector{rows, tensor.columns()};
}

// The type that all of its rows have, or else f32.
StoredType type_of_rows(const NamedTensor& tensor, const TensorFile& stored) {
  const auto type_of = [&](const WeightRows& part) { return stored.at(part.weight->name()).type; };
  const StoredType first = type_of(tensor.rows.front());
  const bool is_one = std::ranges::all_of(tensor.rows, [&](const WeightRows& part) { return type_of(part) == first; });
  return is_one ? first : StoredType::f32;
}

// Vectors that are held in f32 alone.
bool is_small(const NamedTensor& tensor) {
  return std::ranges::all_of(tensor.rows,
                             [](const WeightRows& part) { return part.weight->use() == WeightUse::vector; });
}

StoredType type_for(const NamedTensor& tensor, const ModelConfig& config, const TensorFile& stored,
                    StoredType of_matrices) {
  const StoredType own = type_of_rows(tensor, stored);
  if (!is_small(tensor) || own == of_matrices) {
    return own;
  }
  const FloatValues values = values_of(tensor, config, stored);
  return std::ranges::all_of(values, [&](float x) { return is_exact(of_matrices, x); }) ? of_matrices : own;
}

StoredType type_of_matrices(const std::vector<NamedTensor>& tensors, const TensorFile& stored) {
  const auto found = std::ranges::find_if(tensors, [](const NamedTensor& tensor) { return !is_small(tensor); });
  return found == tensors.end() ? StoredType::f32 : type_of_rows(*found, stored);
}

}  // namespace

std::vector<std::byte> bytes_as(StoredType type, std::span<const float> values, const std::string& where) {
  switch (type) {
    case StoredType::bf16:
      return converted<uint16_t>(values, [](float x) { return bf16(x).bits; });
    case StoredType::f16:
      return converted<uint16_t>(values, [&](float x) {
        require<FormatError>(reaches(x), where, "has the value {}, which f16 does not reach", x);
        return half_from(x);
      });
    default:
      ensure(type == StoredType::f32, where, "{} is not a type that models are written in", name_of(type));
      return converted<float>(values, [](float x) { return x; });
  }
}

std::vector<RenamedTensor> renamed_weights(const ForeignNames& names, const ModelConfig& config,
                                           const TensorFile& stored, std::optional<StoredType> type,
                                           const std::string& where) {
  const auto weights = std::make_shared<Weights>();
  const AnyModel model(Scope(*weights), config);
  const std::vector<NamedTensor> tensors = named_tensors(names, *weights);
  const StoredType of_matrices = type_of_matrices(tensors, stored);
  std::vector<RenamedTensor> renamed;
  for (const NamedTensor& tensor : tensors) {
    ensure(tensor.skipped_rows == 0, tensor.name, "has rows that no weight gives");
    if (tensor.zero_rows > 0) {
      require_zeros(tensor, stored, where);
    }
    const StoredType written = type.value_or(type_for(tensor, config, stored, of_matrices));
    RenamedTensor one{tensor.name, shape_of(tensor), written, tensor.copies,
                      [weights, tensor, config, written, &stored] {
                        return bytes_as(written, values_of(tensor, config, stored),
                                        stored.path().string() + ": " + tensor.rows.front().weight->name());
                      }};
    const auto same = std::ranges::find(renamed, one.name, &RenamedTensor::name);
    if (same == renamed.end()) {
      renamed.push_back(std::move(one));
    } else {
      require<ConfigError>(same->shape == one.shape && same->bytes() == one.bytes(), where,
                           "'{}' and another weight differ, but are one tensor '{}' there",
                           tensor.rows.front().weight->name(), one.name);
    }
  }
  return renamed;
}

}  // namespace heed
