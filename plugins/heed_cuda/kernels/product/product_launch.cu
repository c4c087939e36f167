#include "heed_cuda/kernels/product/product_launch.h"

#include "heed_cuda/device/launch.h"
#include "heed_cuda/kernels/product/library_product.h"
#include "heed_cuda/kernels/product/product_bf16.cuh"
#include "heed_cuda/kernels/product/product_f32.cuh"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

Grid product_grid(const ProductSize& size, int rows, int columns, int threads, int shared_bytes) {
  return {dim3(static_cast<unsigned>(ceil_div(size.n, columns)), static_cast<unsigned>(ceil_div(size.m, rows))),
          dim3(static_cast<unsigned>(threads)), shared_bytes};
}

// Whether there is a tile at least for each multiprocessor.
bool fills(const Context& context, const ProductSize& size, int64_t rows, int64_t columns) {
  return ceil_div(size.m, rows) * ceil_div(size.n, columns) >= context.queue.facts().multiprocessors;
}
template <class Tile>
bool fills(const Context& context, const ProductSize& size) {
  return fills(context, size, Tile::kRows, Tile::kColumns);
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
  if (product.a.type == DType::bf16 && product.b.type == DType::bf16) {
    if (fills<LargeBf16Tile>(context, product.size)) {
      start_bf16<LargeBf16Tile, kRowsOfA, kRowsOfB>(context, product, finish);
    } else if (fills<MediumBf16Tile>(context, product.size)) {
      start_bf16<MediumBf16Tile, kRowsOfA, kRowsOfB>(context, product, finish);
    } else {
      start_bf16<SmallBf16Tile, kRowsOfA, kRowsOfB>(context, product, finish);
    }
    return;
  }
  for_storage(product.a.type, [&]<class A>(A) {
    for_storage(product.b.type, [&]<class B>(B) {
      if constexpr (!std::is_same_v<A, bf16> || !std::is_same_v<B, bf16>) {
        fills(context, product.size, FloatTile<8>::kEdge, FloatTile<8>::kEdge)
            ? start_float<A, B, 8, kRowsOfA, kRowsOfB>(context, product, finish)
            : start_float<A, B, 4, kRowsOfA, kRowsOfB>(context, product, finish);
      }
    });
  });
}

// Smaller products are as fast by own kernels, and have the same bits in any company.
constexpr int64_t kLeastForLibrary = int64_t{1} << 24;  // multiply-adds

bool by_library(Context& context, const FloatProduct& product, RowsOf of_a, RowsOf of_b, const FinishGradient& finish) {
  const auto& [a, b, size] = product;
  if (size.m * size.n * size.k < kLeastForLibrary || a.type != b.type ||
      (finish.d.type != a.type && finish.d.type != DType::f32)) {
    return false;
  }
  return context.products->multiply({{a.data, a.stride, a.type, of_a},
                                     {b.data, b.stride, b.type, of_b},
                                     size,
                                     finish.d.data,
                                     finish.d.stride,
                                     finish.d.type,
                                     finish.scale,
                                     finish.adds});
}

// Whether nothing follows the sums.
bool is_plain(const FinishForward& finish) {
  return finish.bias.empty() && finish.before.empty() && finish.activation == Activation::none &&
         !finish.dropout.active();
}

__global__ void finish_sums(const float* sums, int64_t stride, ProductSize size, FinishForward finish) {
  const int64_t pairs = ceil_div(size.n, int64_t{2});
  for (int64_t i = thread_of_grid(); i < size.m * pairs; i += threads_of_grid()) {
    const int64_t r = i / pairs, c = i % pairs * 2;
    const float* const at = sums + r * stride + c;
    finish(r, c, at[0], c + 1 < size.n ? at[1] : 0.0F);
  }
}

// The library's sums are finished by a kernel of their own, from f32: in y itself where that is f32.
bool forward_by_library(Context& context, const FloatProduct& product, const FinishForward& finish) {
  if (is_plain(finish)) {
    return by_library(context, product, RowsOf::outer, RowsOf::outer, {finish.y, false, 1.0F, finish.columns});
  }
  const auto& [m, n, k] = product.size;
  Tensor scratch;
  Elements sums = finish.y;
  if (finish.y.type != DType::f32) {
    scratch = Tensor({m, n}, DType::f32, context.arena);
    sums = {device_address(scratch.view()), n, DType::f32, n % 2 == 0};
  }
  if (!by_library(context, product, RowsOf::outer, RowsOf::outer, {sums, false, 1.0F, n})) {
    return false;
  }
  launch(context.queue, grid_over(m * ceil_div(n, int64_t{2})), finish_sums, static_cast<const float*>(sums.data),
         sums.stride, product.size, finish);
  return true;
}

bool is_empty(const ProductSize& size) { return size.m == 0 || size.n == 0; }

}  // namespace

void multiply_rows(Context& context, const FloatProduct& product, Company company, const FinishForward& finish) {
  if (is_empty(product.size)) {
    return;
  }
  const bool multiplied = company == Company::fixed && forward_by_library(context, product, finish);
  if (!multiplied && !multiply_few_rows(context, product, finish)) {
    start<RowsOf::outer, RowsOf::outer>(context, product, finish);
  }
}

void multiply_rows_and_columns(Context& context, const FloatProduct& product, const FinishGradient& finish) {
  if (!is_empty(product.size) && !by_library(context, product, RowsOf::outer, RowsOf::k, finish)) {
    start<RowsOf::outer, RowsOf::k>(context, product, finish);
  }
}

void multiply_columns(Context& context, const FloatProduct& product, const FinishGradient& finish) {
  if (!is_empty(product.size) && !by_library(context, product, RowsOf::k, RowsOf::k, finish)) {
    start<RowsOf::k, RowsOf::k>(context, product, finish);
  }
}

}  // namespace heed::cuda
