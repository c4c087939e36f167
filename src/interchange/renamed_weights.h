// The weights of a stored model as the tensors of another program: what ForeignWeights reads, the other way round.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "interchange/naming.h"
#include "models/config.h"
#include "tensor_files/tensor_file.h"

namespace heed {

struct RenamedTensor {
  std::string name;
  std::vector<int64_t> shape;
  StoredType type;
  std::vector<std::string> copies;  // other names for the same tensor
  // In this type, row by row; put together when they are asked for. FormatError for values that f16 does not reach.
  std::function<std::vector<std::byte>()> bytes;
};

// All weights by the other program's names, in its order. Without a type, matrices keep theirs, and vectors have that
// of the first matrix where it holds their values exactly, or else f32. The tensors refer to the file. ConfigError,
// naming `where`, for weights that differ but are one tensor in the other program.
std::vector<RenamedTensor> renamed_weights(const ForeignNames& names, const ModelConfig& config,
                                           const TensorFile& stored, std::optional<StoredType> type,
                                           const std::string& where);

// Floats as the bytes of a type; FormatError, naming `where`, for one that f16 does not reach.
std::vector<std::byte> bytes_as(StoredType type, std::span<const float> values, const std::string& where);

}  // namespace heed
