#include "interchange/archive/foreign_type.h"

#include <array>

namespace heed {
namespace {

struct BlockRow {
  ForeignType type;
  std::string_view name;
  BlockSize size;
};

// In the order of the enumeration, which indexes it.
constexpr std::array<BlockRow, 8> kBlockRows{{
    {ForeignType::q4_0, "Q4_0", {32, 18}},
    {ForeignType::q4_1, "Q4_1", {32, 20}},
    {ForeignType::q5_0, "Q5_0", {32, 22}},
    {ForeignType::q5_1, "Q5_1", {32, 24}},
    {ForeignType::q8_0, "Q8_0", {32, 34}},
    {ForeignType::q4_k, "Q4_K", {256, 144}},
    {ForeignType::q5_k, "Q5_K", {256, 176}},
    {ForeignType::q6_k, "Q6_K", {256, 210}},
}};

constexpr auto kFirstBlock = static_cast<size_t>(ForeignType::q4_0);

constexpr bool blocks_in_order() {
  for (size_t i = 0; i < kBlockRows.size(); ++i) {
    if (static_cast<size_t>(kBlockRows[i].type) != kFirstBlock + i) {
      return false;
    }
  }
  return true;
}
static_assert(blocks_in_order());
static_assert(static_cast<size_t>(StoredType::f64) + 1 == kFirstBlock);
static_assert(static_cast<size_t>(StoredType::f16) == static_cast<size_t>(ForeignType::f16));

const BlockRow& block_row(ForeignType type) { return kBlockRows[static_cast<size_t>(type) - kFirstBlock]; }

}  // namespace

ForeignType foreign_type(StoredType type) { return static_cast<ForeignType>(type); }

std::optional<StoredType> stored_type(ForeignType type) {
  return is_block(type) ? std::nullopt : std::optional(static_cast<StoredType>(type));
}

BlockSize block_of(ForeignType type) {
  return is_block(type) ? block_row(type).size : BlockSize{1, size_of(static_cast<StoredType>(type))};
}

std::string_view name_of(ForeignType type) {
  return is_block(type) ? block_row(type).name : name_of(static_cast<StoredType>(type));
}

std::optional<int64_t> bytes_of(ForeignType type, std::span<const int64_t> shape) {
  const BlockSize block = block_of(type);
  int64_t elements = 1;
  for (const int64_t extent : shape) {
    // An overflow before an extent of 0 is refused too.
    if (extent < 0 || __builtin_mul_overflow(elements, extent, &elements)) {
      return std::nullopt;
    }
  }
  const int64_t row = shape.empty() ? 1 : shape.back();
  int64_t bytes = 0;
  if (row % block.elements != 0 || __builtin_mul_overflow(elements / block.elements, block.bytes, &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

}  // namespace heed
