// Chooses and starts the kernels of products of floats.
#pragma once

#include "heed_cuda/context.h"
#include "heed_cuda/kernels/product/product_finish.cuh"
#include "heed_cuda/kernels/product/product_operand.cuh"

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

// C[m, n] = sum over k of A[m, k] B[n, k]. Products of two operands in bf16 are by the matrix units, others in f32.
struct FloatProduct {
  AnyOperand a, b;
  ProductSize size;
};

// What else may be multiplied along with a row: in training the same rows each time, in decoding any.
enum class Company : uint8_t { fixed, any };

// The product of rows of A and B: A[m, :] and B[n, :] are rows in memory. A result has the same bits in any company, if
// it may have any.
void multiply_rows(Context& context, const FloatProduct& product, Company company, const FinishForward& finish);
// The same by kernels for few rows, with the same bits; false where there are too many for them.
bool multiply_few_rows(Context& context, const FloatProduct& product, const FinishForward& finish);
// B[:, k] is a row in memory.
void multiply_rows_and_columns(Context& context, const FloatProduct& product, const FinishGradient& finish);
// A[:, k] and B[:, k] are rows.
void multiply_columns(Context& context, const FloatProduct& product, const FinishGradient& finish);

}  // namespace heed::cuda
