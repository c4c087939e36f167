#include "tensor_files/stored_type.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/errors.h"

namespace heed {
namespace {

struct Row {
  StoredType type;
  std::string_view name;
  int64_t size;
};

// In the order of the enumeration, which indexes it.
constexpr std::array<Row, 15> kRows{{
    {StoredType::boolean, "BOOL", 1},
    {StoredType::u8, "U8", 1},
    {StoredType::i8, "I8", 1},
    {StoredType::f8_e4m3, "F8_E4M3", 1},
    {StoredType::f8_e5m2, "F8_E5M2", 1},
    {StoredType::u16, "U16", 2},
    {StoredType::i16, "I16", 2},
    {StoredType::f16, "F16", 2},
    {StoredType::bf16, "BF16", 2},
    {StoredType::u32, "U32", 4},
    {StoredType::i32, "I32", 4},
    {StoredType::f32, "F32", 4},
    {StoredType::u64, "U64", 8},
    {StoredType::i64, "I64", 8},
    {StoredType::f64, "F64", 8},
}};

constexpr bool in_order() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<size_t>(kRows[i].type) != i) {
      return false;
    }
  }
  return true;
}
static_assert(in_order());

const Row& row_of(StoredType type) { return kRows[static_cast<size_t>(type)]; }

}  // namespace

int64_t size_of(StoredType type) { return row_of(type).size; }

std::string_view name_of(StoredType type) { return row_of(type).name; }

std::optional<StoredType> find_stored_type(std::string_view name) {
  const auto* const it = std::ranges::find(kRows, name, &Row::name);
  return it == kRows.end() ? std::nullopt : std::optional(it->type);
}

std::string stored_type_names() {
  std::vector<std::string_view> names;
  names.reserve(kRows.size());
  for (const Row& row : kRows) {
    names.push_back(row.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

StoredType stored_as(DType type) {
  switch (type) {
    case DType::f64:
      return StoredType::f64;
    case DType::f32:
      return StoredType::f32;
    case DType::bf16:
      return StoredType::bf16;
    case DType::i32:
      return StoredType::i32;
    case DType::i8:
      return StoredType::i8;
  }
  fail<InternalError>("stored type", "element type {} is unknown", static_cast<int>(type));
}

}  // namespace heed
