// How gradients, and differences of weights, travel between ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernels.h"

namespace heed {

enum class TravelType : uint8_t { f32, bf16, int8 };

// The type of values that travel as they are.
DType dtype_of_plain(TravelType type);
// Of a value, with its share of a block's scale.
double traveling_bytes(TravelType type);

// Values in f32 and bf16 travel as they are. In int8, each block of 256 neighbours v has a scale
//   s = largest |v| / 127    q = round(v / s), to even
// and its message is all scales, then all q.
class TravelFormat {
 public:
  // `wide` is the type of the values before and after.
  TravelFormat(TravelType type, DType wide) : type_(type), wide_(wide) {}

  // Whether values need no conversion.
  bool is_wide() const;
  int64_t bytes(int64_t values) const;
  void encode(Backend& backend, const View& values, std::span<std::byte> bytes) const;
  // `scratch` has room for the values in the wide type; the result is there, or where the bytes are.
  View decode(std::span<std::byte> bytes, int64_t values, const View& scratch) const;

 private:
  DType plain_type() const { return is_wide() ? wide_ : DType::bf16; }

  TravelType type_;
  DType wide_;
};

}  // namespace heed
