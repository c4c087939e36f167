// Chooses and starts the kernels of products of floats.
#pragma once

#include "heed_cuda/context.h"
#include "heed_cuda/kernels/product_finish.cuh"
#include "heed_cuda/kernels/product_operand.cuh"

namespace heed::cuda {

// An operand in f32 or bf16.
struct AnyOperand {
  const void* data = nullptr;
  int64_t stride = 0;
  DType type = DType::f32;

  template <class T>
  ProductOperand<T> as() const {
    constexpr int64_t kAlignment = 16;
    const bool aligned =
        reinterpret_cast<uintptr_t>(data) % kAlignment == 0 && stride * size_of(type) % kAlignment == 0;
    return {static_cast<const T*>(data), stride, aligned};
  }
};

// A product of this size: C[m, n] = sum over k of A[m, k] B[n, k]. Products of two operands in bf16 are by the matrix
// units, others in f32.
struct FloatProduct {
  AnyOperand a, b;
  ProductSize size;
};

void multiply(Context& context, const FloatProduct& product, const FinishForward& finish);  // rows of A and B: outer
void multiply_by_columns(Context& context, const FloatProduct& product,
                         const FinishGradient& finish);                                              // B's rows are k's
void multiply_columns(Context& context, const FloatProduct& product, const FinishGradient& finish);  // rows of both

}  // namespace heed::cuda
