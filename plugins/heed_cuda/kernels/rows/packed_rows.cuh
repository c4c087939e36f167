// Packed integers as tables: elements by row and column.
#pragma once

#include "heed_cuda/device/language.h"
#include "heed_cuda/kernels/product/packed_weights.h"

namespace heed::cuda {

struct PackedRows {
  const int8_t* values = nullptr;
  int64_t stride = 0;
  const float* scales = nullptr;  // of int8, of each row
  GroupScales group_scales;       // of int4
  int64_t groups = 0;

  static PackedRows of(const PackedInt8& weight) {
    PackedRows rows;
    rows.values = static_cast<const int8_t*>(device_address(weight.values.view()));
    rows.stride = weight.values.view().columns();
    rows.scales = static_cast<const float*>(device_address(weight.scales.view()));
    return rows;
  }
  static PackedRows of(const PackedInt4& weight) {
    PackedRows rows;
    rows.values = static_cast<const int8_t*>(device_address(weight.values.view()));
    rows.stride = weight.values.view().columns();
    rows.group_scales = group_scales_of(weight);
    rows.groups = weight.scales.view().columns();
    return rows;
  }

  __host__ __device__ bool empty() const { return values == nullptr; }
  __device__ float get(int64_t row, int64_t column) const {
    if (scales != nullptr) {
      return static_cast<float>(values[row * stride + column]) * scales[row];
    }
    const auto both = static_cast<unsigned>(static_cast<uint8_t>(values[row * stride + int4_byte(column)]));
    const int value = static_cast<int>(in_high_half(column) ? both >> 4 : both & 0x0fU) - 8;
    return static_cast<float>(value) * group_scales.at(row * groups + column / kInt4Group);
  }
};

}  // namespace heed::cuda
