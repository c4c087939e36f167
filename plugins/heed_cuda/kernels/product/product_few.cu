#include "heed_cuda/kernels/product/product_few.cuh"

#include "heed_cuda/device/launch.h"
#include "heed_cuda/kernels/product/product_launch.h"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

Grid few_grid(const ProductSize& size, int rows, int columns) {
  return {dim3(static_cast<unsigned>(ceil_div(size.n, columns)), static_cast<unsigned>(ceil_div(size.m, rows))),
          dim3(kFewThreads), int64_t{4} * kFewWarps * rows * columns};
}

template <int kTilesM, int kTilesN>
bool start_few_bf16(Context& context, const FloatProduct& product, const FinishForward& finish) {
  launch(context.queue, few_grid(product.size, 16 * kTilesM, 8 * kTilesN), bf16_few<kTilesM, kTilesN, FinishForward>,
         product.a.as<bf16>(), product.b.as<bf16>(), product.size, finish);
  return true;
}

// Up to 64 rows, of so few columns that tiles would leave multiprocessors idle. What is read again and again then, rows
// for each block of columns or the other way round, comes from the cache.
bool has_few_tiles(const Context& context, const ProductSize& size) {
  constexpr int64_t kEdge = 64;
  return size.m <= kEdge && ceil_div(size.n, kEdge) < context.queue.facts().multiprocessors;
}

bool few_bf16(Context& context, const FloatProduct& product, const FinishForward& finish) {
  const ProductSize& size = product.size;
  const int64_t multiprocessors = context.queue.facts().multiprocessors;
  if (size.m <= 16) {
    return size.n >= 64 * multiprocessors ? start_few_bf16<1, 4>(context, product, finish)
                                          : start_few_bf16<1, 1>(context, product, finish);
  }
  if (!has_few_tiles(context, size)) {
    return false;
  }
  return size.m <= 32 ? start_few_bf16<2, 1>(context, product, finish) : start_few_bf16<4, 1>(context, product, finish);
}

template <class A, class B, int kRows>
bool start_few_floats(Context& context, const FloatProduct& product, const FinishForward& finish) {
  launch(context.queue, few_grid(product.size, kRows, kWarp), float_few<A, B, kRows, FinishForward>, product.a.as<A>(),
         product.b.as<B>(), product.size, finish);
  return true;
}

}  // namespace

bool multiply_few_rows(Context& context, const FloatProduct& product, const FinishForward& finish) {
  constexpr int kLeastRows = 4, kMostRows = 16;
  if (product.a.type == DType::bf16 && product.b.type == DType::bf16) {
    return few_bf16(context, product, finish);
  }
  if (product.size.m > kMostRows && !has_few_tiles(context, product.size)) {
    return false;
  }
  for_storage(product.a.type, [&]<class A>(A) {
    for_storage(product.b.type, [&]<class B>(B) {
      if constexpr (!std::is_same_v<A, bf16> || !std::is_same_v<B, bf16>) {
        product.size.m <= kLeastRows ? start_few_floats<A, B, kLeastRows>(context, product, finish)
                                     : start_few_floats<A, B, kMostRows>(context, product, finish);
      }
    });
  });
  return true;
}

}  // namespace heed::cuda
