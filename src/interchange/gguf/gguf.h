// The GGUF format, version 3: entries of metadata, the tensors' names, shapes and types, and their values.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/interruption.h"
#include "heed/types/export.h"

namespace heed {

using GgufValue = std::variant<bool, uint32_t, float, std::string, std::vector<int32_t>, std::vector<float>,
                               std::vector<std::string>>;

struct GgufEntry {
  std::string key;
  GgufValue value;
};

struct GgufTensor {
  std::string name;
  std::vector<int64_t> shape;  // {rows, columns}, or {elements} of a vector
  GgufType type = GgufType::f32;
  std::function<std::vector<float>()> values;      // row by row; requested when their turn comes
  std::function<std::vector<std::byte>()> blocks;  // as the file has them; empty: those of the values

  int64_t elements() const;
};

constexpr int64_t kGgufBlock = 32;  // columns of q8_0 and q4_0 that share a scale

int64_t bytes_of_gguf(GgufType type, int64_t elements);

// Whole blocks of values, in the order in which a file has them:
//   q8_0: the scale d = max |x| / 127 in f16, then round(x / d) of each
//   q4_0: the scale d = x / -8 in f16, where x has the largest magnitude, then 16 bytes with round(x / d) + 8 of the
//         first half in their lower bits and of the second half in their upper bits
// ConfigError, naming `where`, for values that f16 does not reach.
std::vector<std::byte> gguf_blocks(GgufType type, std::span<const float> values, const std::string& where);

// The file is complete or does not exist. Returns its bytes. ShapeError for a source whose values do not match its
// shape, InterruptedError when the interruption comes before the last one.
int64_t write_gguf(const std::filesystem::path& target, std::span<const GgufEntry> entries,
                   std::span<const GgufTensor> tensors, const Interruption& interruption = {});

}  // namespace heed
