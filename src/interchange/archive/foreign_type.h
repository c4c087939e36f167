// Element types of other programs' files: those of safetensors, and GGUF's blocks, in which some neighbours of a row
// share scales.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tensor_files/stored_type.h"

namespace heed {

// The first fifteen are those of StoredType, in its order.
enum class ForeignType : uint8_t {
  boolean,
  u8,
  i8,
  f8_e4m3,
  f8_e5m2,
  u16,
  i16,
  f16,
  bf16,
  u32,
  i32,
  f32,
  u64,
  i64,
  f64,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q4_k,
  q5_k,
  q6_k,
};

// How many elements lie together, and their bytes: {1, 4} for f32, {32, 34} for q8_0.
struct BlockSize {
  int64_t elements, bytes;
};
BlockSize block_of(ForeignType type);
constexpr bool is_block(ForeignType type) { return type >= ForeignType::q4_0; }

// "F32", "Q8_0".
std::string_view name_of(ForeignType type);

ForeignType foreign_type(StoredType type);
std::optional<StoredType> stored_type(ForeignType type);  // none for blocks

// The bytes of a tensor, or none where they are more than a file can hold, an extent is negative, or rows are not whole
// blocks.
std::optional<int64_t> bytes_of(ForeignType type, std::span<const int64_t> shape);

}  // namespace heed
