// A weight in packed form, for products and for looking up rows.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <variant>
#include <vector>

#include "kernels/calls/weight.h"
#include "kernels/cpu/product/product.h"
#include "kernels/cpu/product/product_integers.h"
#include "kernels/half_panels.h"
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
  // These rows of W, in this order, in the same form.
  virtual std::unique_ptr<CpuWeight> select_rows(Context& context, PanelMemory& memory,
                                                 std::span<const int32_t> rows) const = 0;
};

// The panels of W^T, in f32, or in bf16 as the kind of product needs them: pairs, or halves that are widened when they
// are loaded. Both take two bytes per element. Or in pairs of bf16 or f16 that others packed.
class PackedPanels final : public CpuWeight {
 public:
  PackedPanels(Context& context, PanelMemory& memory, const Shape& shape, ProductTypes types, const RowSource& rows,
               Bf16Products products);
  PackedPanels(const HalfPanels& panels, DType inputs, Bf16Products products);
  PackedPanels(Context& context, PanelMemory& memory, const Panels& from, std::span<const int32_t> rows);

  int64_t bytes() const override { return 4 * panel_words(panels_.depth, panels_.columns, panels_.element); }
  AnyPanels panels() const override { return panels_; }
  void read_row(int64_t row, float* to) const override;
  std::unique_ptr<CpuWeight> select_rows(Context& context, PanelMemory& memory,
                                         std::span<const int32_t> rows) const override;

 private:
  std::shared_ptr<const void> memory_;
  Panels panels_;
};

// A matrix of integers, packed here or by others before.
class PackedInt8 final : public CpuWeight {
 public:
  PackedInt8(Context& context, PanelMemory& memory, const Int8Matrix& matrix);
  PackedInt8(Context& context, PanelMemory& memory, const Int8Panels& from, std::span<const int32_t> rows);
  explicit PackedInt8(const Int8Panels& panels);

  int64_t bytes() const override;
  bool holds_integers() const override { return true; }
  AnyPanels panels() const override;
  void read_row(int64_t row, float* to) const override;
  std::unique_ptr<CpuWeight> select_rows(Context& context, PanelMemory& memory,
                                         std::span<const int32_t> rows) const override;

 private:
  Int8Panels panels_;
};

class PackedInt8Groups final : public CpuWeight {
 public:
  PackedInt8Groups(Context& context, PanelMemory& memory, const Int8GroupMatrix& matrix);
  PackedInt8Groups(Context& context, PanelMemory& memory, const Int8GroupPanels& from, std::span<const int32_t> rows);
  explicit PackedInt8Groups(const Int8GroupPanels& panels);

  int64_t bytes() const override;
  bool holds_integers() const override { return true; }
  AnyPanels panels() const override;
  void read_row(int64_t row, float* to) const override;
  std::unique_ptr<CpuWeight> select_rows(Context& context, PanelMemory& memory,
                                         std::span<const int32_t> rows) const override;

 private:
  Int8GroupPanels panels_;
};

class PackedInt4 final : public CpuWeight {
 public:
  PackedInt4(Context& context, PanelMemory& memory, const Int4Matrix& matrix);
  PackedInt4(Context& context, PanelMemory& memory, const Int4Panels& from, std::span<const int32_t> rows);
  explicit PackedInt4(const Int4Panels& panels);

  int64_t bytes() const override;
  bool holds_integers() const override { return true; }
  AnyPanels panels() const override;
  void read_row(int64_t row, float* to) const override;
  std::unique_ptr<CpuWeight> select_rows(Context& context, PanelMemory& memory,
                                         std::span<const int32_t> rows) const override;

 private:
  Int4Panels panels_;
};

}  // namespace heed::cpu
