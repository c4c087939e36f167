// A weight in packed form, for products and for looking up rows.
#pragma once

#include <memory>
#include <mutex>

#include "kernels/cpu/product.h"
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

// The panels of W^T, in f32, or in bf16 as the kind of product needs them: pairs, or halves that are widened when they
// are loaded. Both take two bytes per element.
class PackedPanels final : public PackedWeight {
 public:
  PackedPanels(Context& context, PanelMemory& memory, const Shape& shape, DType format, const RowSource& rows,
               Bf16Products products);

  int64_t bytes() const override { return memory_->bytes(); }
  const Panels& panels() const { return panels_; }
  // Row `row` of W, as f32.
  void read_row(int64_t row, float* to) const;

 private:
  std::shared_ptr<Tensor> memory_;
  Panels panels_;
};

}  // namespace heed::cpu
