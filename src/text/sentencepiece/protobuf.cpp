#include "text/sentencepiece/protobuf.h"

#include <limits>

#include "base/errors.h"

namespace heed {
namespace {

constexpr int kVarintBytes = 10;
constexpr uint64_t kLargestNumber = (uint64_t{1} << 29) - 1;

void require_wire(const ProtobufField& field, ProtobufField::Wire wire, std::string_view where) {
  require<FormatError>(field.wire == wire, where, "expected a SentencePiece model; field {} has the wrong type",
                       field.number);
}

}  // namespace

uint64_t ProtobufField::as_number(std::string_view where) const {
  require_wire(*this, Wire::number, where);
  return value;
}

uint32_t ProtobufField::as_fixed32(std::string_view where) const {
  require_wire(*this, Wire::fixed32, where);
  return static_cast<uint32_t>(value);
}

std::string_view ProtobufField::as_bytes(std::string_view where) const {
  require_wire(*this, Wire::bytes, where);
  return bytes;
}

void ProtobufReader::refuse() const {
  fail<FormatError>(where_, "expected a tokenizer; at byte {} this is not a SentencePiece model, or it is cut off",
                    bytes_.data() + at_ - origin_);
}

uint64_t ProtobufReader::take_varint() {
  uint64_t value = 0;
  for (int i = 0; i < kVarintBytes && at_ < bytes_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes_[at_++]);
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      return value;
    }
  }
  refuse();
}

std::string_view ProtobufReader::take(uint64_t size) {
  if (size > bytes_.size() - at_) {
    refuse();
  }
  const std::string_view taken = bytes_.substr(at_, size);
  at_ += size;
  return taken;
}

uint64_t ProtobufReader::take_fixed(size_t size) {
  uint64_t value = 0;
  int shift = 0;
  for (const char byte : take(size)) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(byte)) << shift;
    shift += 8;
  }
  return value;
}

std::optional<ProtobufField> ProtobufReader::next() {
  if (at_ == bytes_.size()) {
    return std::nullopt;
  }
  ProtobufField field;
  field.begin = at_;
  const uint64_t tag = take_varint();
  if (tag >> 3 == 0 || tag >> 3 > kLargestNumber) {
    refuse();
  }
  field.number = static_cast<uint32_t>(tag >> 3);
  field.wire = static_cast<ProtobufField::Wire>(tag & 7);
  switch (field.wire) {
    case ProtobufField::Wire::number:
      field.value = take_varint();
      break;
    case ProtobufField::Wire::fixed64:
      field.value = take_fixed(8);
      break;
    case ProtobufField::Wire::bytes:
      field.bytes = take(take_varint());
      break;
    case ProtobufField::Wire::fixed32:
      field.value = take_fixed(4);
      break;
    default:
      refuse();
  }
  return field;
}

}  // namespace heed
