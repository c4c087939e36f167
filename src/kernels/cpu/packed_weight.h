// A weight in packed form, for products and for looking up rows.
#pragma once

#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "kernels/cpu/product.h"
#include "kernels/cpu/product_integers.h"
#include "kernels/kernels.h"
#include "tensor/arena.h"

namespace heed::cpu {

// Memory for packed weights, next to each other in large pages. A step of decoding reads all of them: with small pages
// it needs an address translation every 4 KiB, where the processor's own prefetching stops. Safe to call from several
// threads.
class PanelMemory : public std::enable_shared_from_this<PanelMemory> {
 public:
  // Some of the memory, in f32. It may outlive whoever created the PanelMemory.
  std::shared_ptr<Tensor> take(int64_t elements);

 private:
  std::mutex mutex_;
  Arena arena_;
};

// The panels of W^T in the form that a product takes.
using AnyPanels = std::variant<Panels, IntegerPanels>;

class CpuWeight : public PackedWeight {
 public:
  using PackedWeight::PackedWeight;

  virtual AnyPanels panels() const = 0;
  // Row `row` of W, as f32.
  virtual void read_row(int64_t row, float* to) const = 0;
};

// The panels of W^T, in f32, or in bf16 as the kind of product needs them: pairs, or halves that are widened when they
// are loaded. Both take two bytes per element.
class PackedPanels final : public CpuWeight {
 public:
  PackedPanels(Context& context, PanelMemory& memory, const Shape& shape, DType format, const RowSource& rows,
               Bf16Products products);

  int64_t bytes() const override { return memory_->bytes(); }
  AnyPanels panels() const override { return panels_; }
  void read_row(int64_t row, float* to) const override;

 private:
  std::shared_ptr<Tensor> memory_;
  Panels panels_;
};

// The panels of W^T in int8, with a scale and a sum for each column.
class PackedInt8 final : public CpuWeight {
 public:
  PackedInt8(Context& context, PanelMemory& memory, const Int8Matrix& matrix);

  int64_t bytes() const override;
  AnyPanels panels() const override;
  void read_row(int64_t row, float* to) const override;

 private:
  void pack_rows(Context& context, View values, int64_t first);

  std::shared_ptr<Tensor> memory_;
  float input_scale_;
  std::vector<float> scales_;  // of whole panels; 0 after the last column
  std::vector<int32_t> sums_;
};

// The panels of W^T in int4, with a scale for each group of a column.
class PackedInt4 final : public CpuWeight {
 public:
  PackedInt4(Context& context, PanelMemory& memory, const Int4Matrix& matrix);

  int64_t bytes() const override;
  AnyPanels panels() const override;
  void read_row(int64_t row, float* to) const override;

 private:
  // Where a column's words or scales begin, and the distance from one to the next.
  struct Column {
    int64_t first_word, first_scale, distance;
  };
  Column column_of(int64_t row) const;
  void pack_row(const Int4Matrix& matrix, const int8_t* values, int64_t row);
  uint32_t* words() const { return reinterpret_cast<uint32_t*>(memory_->data<float>()); }

  std::shared_ptr<Tensor> memory_;
  std::vector<uint16_t> scales_;  // bits of bf16
};

}  // namespace heed::cpu
