// The library's place on the CPU: plain sums, so that what the backend does around them is tested.
#include "heed_cuda/kernels/product/library_product.h"

namespace heed::cuda {
namespace {

float element(const LibraryOperand& operand, int64_t outer, int64_t k) {
  const int64_t at = operand.rows == RowsOf::outer ? outer * operand.stride + k : k * operand.stride + outer;
  return operand.type == DType::bf16 ? static_cast<float>(static_cast<const bf16*>(operand.data)[at])
                                     : static_cast<const float*>(operand.data)[at];
}

class PlainProducts final : public Products {
 public:
  bool multiply(const LibraryProduct& product) override {
    for (int64_t m = 0; m < product.size.m; ++m) {
      for (int64_t n = 0; n < product.size.n; ++n) {
        float sum = 0.0F;
        for (int64_t k = 0; k < product.size.k; ++k) {
          sum += element(product.a, m, k) * element(product.b, n, k);
        }
        put(product, m * product.c_stride + n, sum * product.scale);
      }
    }
    return true;
  }

 private:
  static void put(const LibraryProduct& product, int64_t at, float value) {
    if (product.c_type == DType::bf16) {
      bf16& c = static_cast<bf16*>(product.c)[at];
      c = bf16(product.adds ? static_cast<float>(c) + value : value);
    } else {
      float& c = static_cast<float*>(product.c)[at];
      c = product.adds ? c + value : value;
    }
  }
};

}  // namespace

std::unique_ptr<Products> Products::make(Queue& /*queue*/) { return std::make_unique<PlainProducts>(); }

}  // namespace heed::cuda
