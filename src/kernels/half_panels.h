// Matrices of 16-bit floats as products read them, in memory and in files: one form for the kernels of every
// instruction set, so that a file can be used where it is mapped.
//
// W is taken in panels of 32 rows, the last one padded with zeros: [panels][(columns + 1) / 2][32] words. That of step
// s and row r holds the row's value at column 2 s in its low half, and at column 2 s + 1, or a zero, in its high half.
#pragma once

#include <cstdint>
#include <memory>

#include "base/rounding.h"
#include "tensor/half_type.h"
#include "tensor/tensor.h"

namespace heed {

constexpr int64_t kHalfPanelRows = 32;

constexpr int64_t half_panels_of(int64_t rows) { return ceil_div(rows, kHalfPanelRows); }
constexpr int64_t steps_of_halves(int64_t columns) { return ceil_div(columns, 2); }
constexpr int64_t half_panel_words(int64_t columns) { return steps_of_halves(columns) * kHalfPanelRows; }

// A matrix that someone else keeps, in this form. `memory` is released with the last weight that reads it.
struct HalfPanels {
  Shape shape;
  HalfType type = HalfType::bf16;
  const uint32_t* words = nullptr;
  std::shared_ptr<const void> memory;

  float value(int64_t row, int64_t column) const {
    const uint32_t word = words[row / kHalfPanelRows * half_panel_words(shape.columns()) + column / 2 * kHalfPanelRows +
                                row % kHalfPanelRows];
    return from_bits(type, static_cast<uint16_t>(word >> (16 * (column % 2))));
  }
};

// Writes all of a panel of up to 32 rows.
void write_half_panel(const HostView<const uint16_t>& rows, uint32_t* panel);

}  // namespace heed
