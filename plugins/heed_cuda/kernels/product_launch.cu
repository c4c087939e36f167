#include "heed_cuda/kernels/product_launch.h"

#include "heed_cuda/device/launch.h"
#include "heed_cuda/kernels/product_bf16.cuh"
#include "heed_cuda/kernels/product_f32.cuh"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

Grid product_grid(const ProductSize& size, int rows, int columns, int threads, int shared_bytes) {
  return {dim3(static_cast<unsigned>(ceil_div(size.n, columns)), static_cast<unsigned>(ceil_div(size.m, rows))),
          dim3(static_cast<unsigned>(threads)), shared_bytes};
}

// Whether tiles of this edge give each multiprocessor one at least.
bool fills(const Context& context, const ProductSize& size, int64_t edge) {
  return ceil_div(size.m, edge) * ceil_div(size.n, edge) >= context.queue.facts().multiprocessors;
}

template <class Tile, RowsOf kRowsOfA, RowsOf kRowsOfB, class Finish>
void start_bf16(Context& context, const FloatProduct& product, const Finish& finish) {
  launch(
      context.queue, product_grid(product.size, Tile::kRows, Tile::kColumns, Tile::kThreadsOfBlock, Tile::kSharedBytes),
      bf16_product<Tile, kRowsOfA, kRowsOfB, Finish>, product.a.as<bf16>(), product.b.as<bf16>(), product.size, finish);
}

template <class A, class B, int kMicro, RowsOf kRowsOfA, RowsOf kRowsOfB, class Finish>
void start_float(Context& context, const FloatProduct& product, const Finish& finish) {
  using Tile = FloatTile<kMicro>;
  launch(context.queue, product_grid(product.size, Tile::kEdge, Tile::kEdge, kFloatThreads, Tile::kSharedBytes),
         float_product<A, B, kMicro, kRowsOfA, kRowsOfB, Finish>, product.a.as<A>(), product.b.as<B>(), product.size,
         finish);
}

// All tiles give the same bits.
template <RowsOf kRowsOfA, RowsOf kRowsOfB, class Finish>
void start(Context& context, const FloatProduct& product, const Finish& finish) {
  if (product.size.m == 0 || product.size.n == 0) {
    return;
  }
  if (product.a.type == DType::bf16 && product.b.type == DType::bf16) {
    fills(context, product.size, LargeBf16Tile::kRows)
        ? start_bf16<LargeBf16Tile, kRowsOfA, kRowsOfB>(context, product, finish)
        : start_bf16<SmallBf16Tile, kRowsOfA, kRowsOfB>(context, product, finish);
    return;
  }
  for_storage(product.a.type, [&]<class A>(A) {
    for_storage(product.b.type, [&]<class B>(B) {
      if constexpr (!std::is_same_v<A, bf16> || !std::is_same_v<B, bf16>) {
        fills(context, product.size, FloatTile<8>::kEdge)
            ? start_float<A, B, 8, kRowsOfA, kRowsOfB>(context, product, finish)
            : start_float<A, B, 4, kRowsOfA, kRowsOfB>(context, product, finish);
      }
    });
  });
}

}  // namespace

void multiply(Context& context, const FloatProduct& product, const FinishForward& finish) {
  start<RowsOf::outer, RowsOf::outer>(context, product, finish);
}
void multiply_by_columns(Context& context, const FloatProduct& product, const FinishGradient& finish) {
  start<RowsOf::outer, RowsOf::k>(context, product, finish);
}
void multiply_columns(Context& context, const FloatProduct& product, const FinishGradient& finish) {
  start<RowsOf::k, RowsOf::k>(context, product, finish);
}

}  // namespace heed::cuda
