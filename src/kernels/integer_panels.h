// Matrices of integers as products read them, in memory and in files: one form for the kernels of every
// instruction set, so that a file can be used where it is mapped.
//
// W is taken in panels of 16 rows. Rows are padded to a multiple of 32: some kernels read two panels together.
//
// 8 bits: [panels][steps][16][4] bytes. Those of step s and row r are the row's values at columns 4 s to 4 s + 3, zeros
// after the last column. Each row has an f32 scale, and the sum of its values in 32 bits.
//
// 8 bits in groups: the same values without sums. The scales are [panels][groups][16], in f16: a GGUF's q8_0 has them
// so, and in f32 they would be a ninth of what a product reads.
//
// 4 bits: [panels][columns / 8][16][4] bytes. Those of step s and row r hold the row's values + 8: in their low halves
// columns 8 s to 8 s + 3, in their high halves the four that follow. The scales are [panels][groups][16], in bf16; or in
// f16, as a GGUF's q4_0 has them.
#pragma once

#include <cstdint>
#include <memory>

#include "base/rounding.h"
#include "kernels/integer_rows.h"
#include "tensor/half_type.h"
#include "tensor/tensor.h"

namespace heed {

constexpr int64_t kPanelRows = 16;
constexpr int64_t kPanelPadding = 32;    // rows are padded to a multiple of it
constexpr int64_t kPanelAlignment = 64;  // of the values in memory, in bytes

constexpr int64_t padded_rows(int64_t rows) { return round_up(rows, kPanelPadding); }
constexpr int64_t panels_of(int64_t rows) { return padded_rows(rows) / kPanelRows; }

// Along a row: words of four values of 8 bits, or of eight of 4 bits.
constexpr int64_t steps_of_int8(int64_t columns) { return ceil_div(columns, 4); }
constexpr int64_t steps_of_int4(int64_t columns) { return columns / 8; }

constexpr int64_t int8_panel_words(int64_t columns) { return steps_of_int8(columns) * kPanelRows; }
constexpr int64_t int4_panel_words(int64_t columns) { return steps_of_int4(columns) * kPanelRows; }

// Where the scale of a row's group is, of `groups` in a row.
constexpr int64_t group_scale_index(int64_t row, int64_t group, int64_t groups) {
  return (row / kPanelRows * groups + group) * kPanelRows + row % kPanelRows;
}

constexpr int8_t int8_in_panels(const uint32_t* words, int64_t columns, int64_t row, int64_t column) {
  const uint32_t word =
      words[row / kPanelRows * int8_panel_words(columns) + column / 4 * kPanelRows + row % kPanelRows];
  return static_cast<int8_t>(word >> (8 * (column % 4)));
}

// A matrix that someone else keeps, in this form. `memory` is released with the last weight that reads it.
struct Int8Panels {
  Shape shape;
  const uint32_t* words = nullptr;
  const float* scales = nullptr;
  const int32_t* sums = nullptr;
  float input_scale = 0.0F;  // of all rows that it multiplies; 0: each has its own
  std::shared_ptr<const void> memory;

  int8_t value(int64_t row, int64_t column) const { return int8_in_panels(words, shape.columns(), row, column); }
};

struct Int8GroupPanels {
  Shape shape;
  const uint32_t* words = nullptr;
  const uint16_t* scales = nullptr;  // bits of f16
  std::shared_ptr<const void> memory;

  int64_t groups() const { return shape.columns() / kInt8Group; }
  int8_t value(int64_t row, int64_t column) const { return int8_in_panels(words, shape.columns(), row, column); }
  float scale(int64_t row, int64_t column) const {
    return widened_half(scales[group_scale_index(row, column / kInt8Group, groups())]);
  }
};

struct Int4Panels {
  Shape shape;
  const uint32_t* words = nullptr;
  const uint16_t* scales = nullptr;  // bits of scale_type
  HalfType scale_type = HalfType::bf16;
  int64_t group = kInt4Group;  // neighbouring values of a row that share a scale: kInt4Group or kLargeInt4Group
  std::shared_ptr<const void> memory;

  int8_t value(int64_t row, int64_t column) const {
    const uint32_t word =
        words[row / kPanelRows * int4_panel_words(shape.columns()) + column / 8 * kPanelRows + row % kPanelRows];
    return static_cast<int8_t>(static_cast<int32_t>(word >> (8 * (column % 4) + 4 * (column % 8 / 4)) & 15U) - 8);
  }
  float scale(int64_t row, int64_t column) const {
    return from_bits(scale_type, scales[group_scale_index(row, column / group, shape.columns() / group)]);
  }
};

// Writes all of a panel of up to 16 rows of integers, and the sums of these rows; null: sums are not needed.
void write_int8_panel(const HostView<const int8_t>& rows, uint32_t* panel, int32_t* sums);
// The same of 4 bits.
void write_int4_panel(const HostView<const int8_t>& rows, uint32_t* panel);

}  // namespace heed
