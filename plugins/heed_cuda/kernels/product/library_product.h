// Products by the device's library, for large matrices in training.
#pragma once

#include <memory>

#include "heed_cuda/device/queue.h"
#include "heed_cuda/kernels/product/product_shape.h"
#include "tensor/dtype.h"

namespace heed::cuda {

struct LibraryOperand {
  const void* data = nullptr;
  int64_t stride = 0;
  DType type = DType::f32;
  RowsOf rows = RowsOf::outer;
};

// C[m, n] = scale * sum over k of A[m, k] B[n, k], or that much more. A and B are of one type; C too, or f32.
struct LibraryProduct {
  LibraryOperand a, b;
  ProductSize size;
  void* c = nullptr;
  int64_t c_stride = 0;
  DType c_type = DType::f32;
  float scale = 1.0F;
  bool adds = false;
};

// The algorithm depends on the product's shape and types, and on how its operands are aligned, alone. It is the
// library's first choice of those whose sums have an order of their own.
class Products {
 public:
  static std::unique_ptr<Products> make(Queue& queue);
  virtual ~Products() = default;

  // Whether the library has multiplied: it may be missing, or have no algorithm for this product.
  virtual bool multiply(const LibraryProduct& product) = 0;
};

}  // namespace heed::cuda
