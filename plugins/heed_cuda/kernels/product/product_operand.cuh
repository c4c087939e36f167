// An operand of products, as kernels see it.
#pragma once

#include "heed_cuda/device/language.h"
#include "heed_cuda/kernels/product/product_shape.h"

namespace heed::cuda {

template <class T>
struct ProductOperand {
  const T* data = nullptr;
  int64_t stride = 0;
  bool aligned = false;  // rows begin at multiples of 16 bytes
};

}  // namespace heed::cuda
