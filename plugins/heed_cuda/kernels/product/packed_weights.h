// Weights that products read, in the device's memory. Rows begin at multiples of 16 bytes.
#pragma once

#include "heed_cuda/context.h"
#include "kernels/calls/weight.h"
#include "kernels/half_panels.h"
#include "kernels/integer_panels.h"
#include "tensor/tensor.h"

namespace heed::cuda {

// Elements in f32 or bf16, row by row.
struct PackedFloats final : PackedWeight {
  PackedFloats(const Shape& shape, DType type, Arena& arena);
  int64_t bytes() const override { return memory.bytes(); }
  ConstView view() const { return memory.view().column_range(0, columns()); }

  Tensor memory;
};

// Integers of 8 bits row by row, with a scale for each row.
struct PackedInt8 final : PackedWeight {
  PackedInt8(const Shape& shape, float input_scale_of_rows, Arena& arena);
  int64_t bytes() const override { return values.bytes() + scales.bytes(); }
  bool holds_integers() const override { return true; }

  Tensor values;  // i8 [rows, columns and padding]
  Tensor scales;  // f32 [rows]
  float input_scale;
};

// Integers of 4 bits, with a scale for each group of 32 columns. Columns are taken in blocks of kInt4Block, the last
// one padded with zeros whose scale is 0. A block of a row has 16 words: word 4 t + j has group j's columns 4 t to
// 4 t + 3 in the low halves of its bytes and 16 + 4 t to 16 + 4 t + 3 in the high ones, each value + 8.
constexpr int64_t kInt4Block = 128;
constexpr int64_t kGroupsOfInt4Block = kInt4Block / kInt4Group;
constexpr int64_t kInt4BlockBytes = kInt4Block / 2;

struct PackedInt4 final : PackedWeight {
  PackedInt4(const Shape& shape, HalfType type_of_scales, Arena& arena);
  int64_t bytes() const override { return values.bytes() + scales.bytes(); }
  bool holds_integers() const override { return true; }

  Tensor values;  // i8 [rows, blocks * kInt4BlockBytes]
  Tensor scales;  // [rows, blocks * kGroupsOfInt4Block], bits of scale_type in a tensor of bf16
  HalfType scale_type;
};

// The scales of groups, on the device.
struct GroupScales {
  const bf16* bits = nullptr;
  HalfType type = HalfType::bf16;

  constexpr float at(int64_t index) const { return from_bits(type, bits[index].bits); }
};

inline GroupScales group_scales_of(const PackedInt4& weight) {
  return {static_cast<const bf16*>(device_address(weight.scales.view())), weight.scale_type};
}

constexpr int64_t int4_byte(int64_t column) {
  const int64_t group = column / kInt4Group % kGroupsOfInt4Block, in_half = column % (kInt4Group / 2);
  return column / kInt4Block * kInt4BlockBytes + 4 * (4 * (in_half / 4) + group) + in_half % 4;
}
constexpr bool in_high_half(int64_t column) { return column % kInt4Group >= kInt4Group / 2; }

}  // namespace heed::cuda
