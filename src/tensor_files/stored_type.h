// Element types of files: more than heed computes with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/dtype.h"

namespace heed {

enum class StoredType : uint8_t {
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
};

int64_t size_of(StoredType type);

// The safetensors name, such as "F32", and back; nullopt for an unknown name.
std::string_view name_of(StoredType type);
std::optional<StoredType> find_stored_type(std::string_view name);
std::string stored_type_names();  // all of them, for messages

StoredType stored_as(DType type);

}  // namespace heed
