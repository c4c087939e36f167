// The fields of a protocol buffer, one after the other, within bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace heed {

struct ProtobufField {
  enum class Wire : uint8_t { number = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

  uint32_t number = 0;
  Wire wire = Wire::number;
  uint64_t value = 0;      // of a number or fixed field
  std::string_view bytes;  // of a field of bytes
  size_t begin = 0;        // where the field's tag begins

  // The value; FormatError names `where` when the field is of another kind.
  uint64_t as_number(std::string_view where) const;
  uint32_t as_fixed32(std::string_view where) const;
  std::string_view as_bytes(std::string_view where) const;
};

class ProtobufReader {
 public:
  // Both must outlive the reader.
  ProtobufReader(std::string_view bytes, std::string_view where) : ProtobufReader(bytes, where, bytes.data()) {}

  // A reader of the message in a field of bytes; offsets in errors count from the start of the outermost message.
  ProtobufReader inside(std::string_view bytes) const { return {bytes, where_, origin_}; }

  // The next field, or nothing at the end. FormatError when the bytes are not a field.
  std::optional<ProtobufField> next();

 private:
  ProtobufReader(std::string_view bytes, std::string_view where, const char* origin)
      : bytes_(bytes), where_(where), origin_(origin) {}

  uint64_t take_varint();
  uint64_t take_fixed(size_t size);
  std::string_view take(uint64_t size);
  [[noreturn]] void refuse() const;

  std::string_view bytes_, where_;
  const char* origin_;
  size_t at_ = 0;
};

}  // namespace heed
