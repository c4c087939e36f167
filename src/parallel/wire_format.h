// How gradients, and differences of weights, travel between ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernels.h"

namespace heed {

enum class WireType : uint8_t { f32, bf16, int8, int4 };

// int8 and int4.
bool is_integer(WireType type);

// The type of values that travel as they are.
DType dtype_of_plain(WireType type);
// Bytes of a value, with its share of a block's scale.
double wire_bytes(WireType type);

// Values in f32 and bf16 travel as they are. In int8, each block of 256 neighbours v has a scale, in int4 each of 64:
//   s = largest |v| / 127 or 7    q = round(v / s), to even
// and the message is all scales, then all q; in int4 two in a byte, the first one in its lower half.
class WireFormat {
 public:
  // `wide` is the type of the values before and after.
  WireFormat(WireType type, DType wide) : type_(type), wide_(wide) {}

  // Whether values need no conversion.
  bool is_wide() const;
  int64_t bytes(int64_t values) const;
  void encode(Backend& backend, const ConstView& values, std::span<std::byte> bytes) const;
  // `scratch` has room for the values in the wide type; the result is there, or where the bytes are.
  View decode(std::span<std::byte> bytes, int64_t values, const View& scratch) const;

 private:
  DType plain_type() const { return is_wide() ? wide_ : DType::bf16; }

  WireType type_;
  DType wide_;
};

}  // namespace heed
