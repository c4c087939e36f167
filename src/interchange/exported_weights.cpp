#include "interchange/exported_weights.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "base/errors.h"
#include "interchange/archive/block_values.h"
#include "tensor_files/tensor_values.h"

namespace heed {
namespace {

using Values = std::vector<float>;

// As heed has them.
Values read_rows(const TensorFile& stored, const NamedTensor& tensor) {
  Values values;
  for (const WeightRows& part : tensor.rows) {
    const Values all = read_floats(stored, stored.at(part.weight->name()));
    const auto row = static_cast<int64_t>(all.size()) / part.weight->shape()[0];
    const auto first = all.begin() + part.first * row;
    values.insert(values.end(), first, first + part.count * row);
  }
  return values;
}

// Rows 2c and 2c + 1 of a head are heed's c and c + width / 2.
template <class Element>
std::vector<Element> with_rotated_pairs(const std::vector<Element>& values, int64_t rows, int64_t width) {
  std::vector<Element> paired;
  paired.reserve(values.size());
  const int64_t columns = static_cast<int64_t>(values.size()) / rows;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t in_head = r % width;
    const auto row = values.begin() + (r - in_head + in_head / 2 + in_head % 2 * (width / 2)) * columns;
    paired.insert(paired.end(), row, row + columns);
  }
  return paired;
}

float scale_of_embedding(const ModelConfig& config) {
  return static_cast<float>(
      config.embedding_scale == EmbeddingScale::sqrt_model ? std::sqrt(static_cast<double>(config.model)) : 1.0);
}

// Other programs store the gains themselves, not what they have above 1.
bool is_gain_above_one(const NamedTensor& tensor, const ModelConfig& config) {
  const WeightIdentity& weight = tensor.rows.front().weight->identity();
  return config.norm_gain == NormGain::plus_one && weight.term == WeightTerm::factor && is_of_norm(weight);
}

Values foreign_values(Values values, const NamedTensor& tensor, const ModelConfig& config) {
  if (is_gain_above_one(tensor, config)) {
    std::ranges::for_each(values, [](float& x) { x += 1.0F; });
  }
  switch (tensor.form) {
    case ForeignForm::rotated_pairs:
      return with_rotated_pairs(values, tensor.count(), config.width_of_head());
    case ForeignForm::scaled_by_model:
      std::ranges::for_each(values, [scale = scale_of_embedding(config)](float& x) { x *= scale; });
      break;
    case ForeignForm::transposed:
    case ForeignForm::grouped_by_heads:
    case ForeignForm::single_row:
      fail<ConfigError>(tensor.name, "has a form that no GGUF file has");
    case ForeignForm::same:
      break;
  }
  return values;
}

// The type of blocks that have a matrix's integers and scales, if there is one.
std::optional<ForeignType> blocks_of_matrix(const TensorFile& integers, const StoredTensor& matrix) {
  const StoredTensor* const scales = integers.find(scales_of(matrix.name));
  const bool is_int4 = matrix.type == StoredType::u8;
  if ((!is_int4 && matrix.type != StoredType::i8) || matrix.shape.size() != 2 || scales == nullptr ||
      scales->type != StoredType::f16) {
    return std::nullopt;
  }
  const int64_t columns = matrix.shape[1] * (is_int4 ? 2 : 1);
  if (scales->shape != std::vector{matrix.shape[0], columns / kGgufBlock} || columns % kGgufBlock != 0) {
    return std::nullopt;
  }
  return is_int4 ? ForeignType::q4_0 : ForeignType::q8_0;
}

// Whether blocks of this type have the integers and scales of these rows.
bool is_in_blocks(const NamedTensor& tensor, const ModelConfig& config, const TensorFile& integers, ForeignType type) {
  const bool keeps_rows = tensor.form == ForeignForm::same || tensor.form == ForeignForm::rotated_pairs ||
                          (tensor.form == ForeignForm::scaled_by_model && scale_of_embedding(config) == 1.0F);
  return keeps_rows && std::ranges::all_of(tensor.rows, [&](const WeightRows& part) {
           return blocks_of_matrix(integers, integers.at(part.weight->name())) == type;
         });
}

std::vector<std::byte> blocks_of(const NamedTensor& tensor, const ModelConfig& config, const TensorFile& integers,
                                 ForeignType type) {
  const auto of_block = static_cast<size_t>(block_of(type).bytes), of_scale = sizeof(uint16_t);
  const size_t of_integers = of_block - of_scale;
  std::vector<std::byte> blocks(static_cast<size_t>(tensor.count() * tensor.columns() / kGgufBlock) * of_block);
  std::byte* to = blocks.data();
  std::vector<std::byte> read_integers, read_scales;
  for (const WeightRows& part : tensor.rows) {
    const StoredTensor& matrix = integers.at(part.weight->name());
    const RowSpan wanted{part.first, part.count};
    const auto values = integers.rows(matrix, wanted, read_integers);
    const auto scales = integers.rows(integers.at(scales_of(matrix.name)), wanted, read_scales);
    for (size_t i = 0; i < values.size() / of_integers; ++i, to += of_block) {
      write_block(type, scales.data() + i * of_scale, values.data() + i * of_integers, to);
    }
    integers.give_back(matrix.bytes);
  }
  return tensor.form == ForeignForm::rotated_pairs ? with_rotated_pairs(blocks, tensor.count(), config.width_of_head())
                                                   : blocks;
}

std::optional<ForeignType> block_type(GgufType type) {
  return type == GgufType::q8_0   ? std::optional(ForeignType::q8_0)
         : type == GgufType::q4_0 ? std::optional(ForeignType::q4_0)
                                  : std::nullopt;
}

GgufTensor exported(const NamedTensor& tensor, const ModelConfig& config, const StoredForms& stored, GgufType type) {
  const auto values = [tensor, config, &floats = stored.floats] {
    return foreign_values(read_rows(floats, tensor), tensor, config);
  };
  if (tensor.is_vector()) {
    return {tensor.name, {tensor.count()}, GgufType::f32, values};
  }
  const int64_t columns = tensor.columns();
  if (tensor.has(WeightRole::position_embedding)) {
    return {tensor.name, {tensor.count(), columns}, GgufType::f32, values};
  }
  const std::optional<ForeignType> blocks = block_type(type);
  require<ConfigError>(!blocks || columns % kGgufBlock == 0, tensor.rows.front().weight->name(),
                       "has rows of {}, which {}'s blocks of {} do not divide: export the model as f16", columns,
                       name_of(type), kGgufBlock);
  GgufTensor written{tensor.name, {tensor.count(), columns}, type, values};
  if (blocks && stored.integers != nullptr && is_in_blocks(tensor, config, *stored.integers, *blocks)) {
    written.blocks = [tensor, config, &integers = *stored.integers, kept = *blocks] {
      return blocks_of(tensor, config, integers, kept);
    };
  }
  return written;
}

}  // namespace

std::vector<GgufTensor> exported_weights(ForeignNames names, const ModelConfig& config, const Weights& weights,
                                         const StoredForms& stored, GgufType type) {
  const bool has_factor = std::ranges::any_of(
      names.tensors, [](const ForeignTensor& tensor) { return tensor.form == ForeignForm::scaled_by_model; });
  if (config.tying != Tying::none && config.embedding_scale != EmbeddingScale::none && has_factor) {
    for (ForeignTensor& tensor : names.tensors) {
      if (tensor.roles.front() == WeightRole::logits) {
        tensor.roles = {WeightRole::token_embedding};
      }
    }
  }
  std::vector<GgufTensor> tensors;
  for (const NamedTensor& tensor : named_tensors(names, weights)) {
    tensors.push_back(exported(tensor, config, stored, type));
  }
  return tensors;
}

}  // namespace heed
