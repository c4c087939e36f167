#include "kernels/cpu/precision.h"

#include "kernels/cpu/product/product.h"

namespace heed {

DType inference_type(Precision precision) {
  // When a processor multiplies bf16 no faster than f32, f32 is more precise at the same price.
  const bool fast = cpu::fastest_bf16_products() == cpu::Bf16Products::pairs;
  return precision == Precision::bf16 || (precision == Precision::automatic && fast) ? DType::bf16 : DType::f32;
}

DType cache_type(CacheType type, DType storage) {
  return type == CacheType::automatic ? storage : type == CacheType::bf16 ? DType::bf16 : DType::i8;
}

}  // namespace heed
