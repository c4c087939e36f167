#include "heed_cuda/kernels/product/integer_product.h"

#include "heed_cuda/device/launch.h"
#include "heed_cuda/kernels/product/integer_product.cuh"
#include "heed_cuda/kernels/product/integer_rows.cuh"

namespace heed::cuda {
namespace {

// Many rows: each warp has tiles of its own. A block's warps stand 2 by 4.
template <int kTilesM, int kTilesN>
struct WholeTile {
  static constexpr int kWarpsM = 2, kWarpsN = kIntegerWarps / kWarpsM;
  static constexpr int kRows = kWarpsM * kTilesM * 16, kColumns = kWarpsN * kTilesN * 8;

  __device__ static IntegerPlace place() {
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    return {static_cast<int64_t>(blockIdx.y) * kRows + warp / kWarpsN * (kTilesM * 16),
            static_cast<int64_t>(blockIdx.x) * kColumns + warp % kWarpsN * (kTilesN * 8)};
  }
};
constexpr int kWholeTilesM = 2, kWholeTilesN = 4;
using Whole = WholeTile<kWholeTilesM, kWholeTilesN>;

// finish for this lane's elements of one 16 x 8 tile; value(r, c, i) of the i-th.
template <class Finish, class Value>
__device__ inline void finish_tile(const ProductSize& size, int64_t row, int64_t column, const Finish& finish,
                                   const Value& value) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t r = row + lane / 4, c = column + 2 * (lane % 4);
  HEED_UNROLL
  for (int half = 0; half < 2; ++half) {
    if (r + 8 * half < size.m && c < size.n) {
      finish(r + 8 * half, c, value(r + 8 * half, c, 2 * half), value(r + 8 * half, c + 1, 2 * half + 1));
    }
  }
}

__global__ void __launch_bounds__(kIntegerThreads) int8_product(IntegerOperands operands, FinishForward finish) {
  const IntegerPlace at = Whole::place();
  int sums[kWholeTilesM][kWholeTilesN][4] = {};
  for (int64_t block = 0; block < operands.blocks(); ++block) {
    for_each_step<Int8Words, kWholeTilesM, kWholeTilesN>(
        operands, at, block, [&](int m, int n, int /*group*/, const LeftWords& left, const RightWords& right) {
          multiply_add(sums[m][n], left, right);
        });
  }
  HEED_UNROLL
  for (int tile = 0; tile < kWholeTilesM * kWholeTilesN; ++tile) {
    const int m = tile / kWholeTilesN, n = tile % kWholeTilesN;
    finish_tile(operands.size, at.row + 16 * m, at.column + 8 * n, finish,
                [&](int64_t r, int64_t c, int i) { return int8_value(operands, r, c, sums[m][n][i]); });
  }
}

__global__ void __launch_bounds__(kIntegerThreads) int4_product(IntegerOperands operands, FinishForward finish) {
  const IntegerPlace at = Whole::place();
  const int64_t first_column = at.column + 2 * (threadIdx.x % 4);
  float totals[kWholeTilesM][kWholeTilesN][4] = {};
  for (int64_t block = 0; block < operands.blocks(); ++block) {
    for_each_step<Int4Words, kWholeTilesM, kWholeTilesN>(
        operands, at, block, [&](int m, int n, int group, const LeftWords& left, const RightWords& right) {
          int sums[4] = {};
          multiply_add(sums, left, right);
          HEED_UNROLL
          for (int i = 0; i < 4; ++i) {
            totals[m][n][i] += static_cast<float>(sums[i]) *
                               group_scale(operands, first_column + 8 * n + i % 2, block * kGroupsOfInt4Block + group);
          }
        });
  }
  HEED_UNROLL
  for (int tile = 0; tile < kWholeTilesM * kWholeTilesN; ++tile) {
    const int m = tile / kWholeTilesN, n = tile % kWholeTilesN;
    finish_tile(operands.size, at.row + 16 * m, at.column + 8 * n, finish, [&](int64_t r, int64_t /*c*/, int i) {
      return rounded_product(totals[m][n][i], operands.x_scales[r]);
    });
  }
}

// Few rows: all warps of a block sum the same 16 x 8 elements, each some blocks of columns.
constexpr int64_t kFewRows = 16, kFewColumns = 8;
constexpr int kFewElements = 128;

// Very few rows are quantized by each block for itself, which saves a launch.
constexpr int64_t kMostOwnRows = 4, kOwnHeader = 128;  // bytes: scales, then what warps exchange
struct OwnRows {
  RowQuantization task;
  int64_t offset = -1;  // in shared memory, a multiple of 16; -1: they are quantized already

  int64_t bytes(int64_t rows) const { return kOwnHeader + rows * task.padded; }
};

__device__ inline void quantize_own_rows(const OwnRows& own, const IntegerPlace& at, unsigned char* shared,
                                         IntegerOperands& operands) {
  if (own.offset < 0) {
    return;
  }
  auto* const scales = reinterpret_cast<float*>(shared + own.offset);
  auto* const values = reinterpret_cast<int8_t*>(shared + own.offset + kOwnHeader);
  for (int64_t r = at.row; r < min(operands.size.m, at.row + kFewRows); ++r) {
    const float scale = quantize_row(own.task, r, values + (r - at.row) * own.task.padded, scales + kOwnHeader / 8);
    if (threadIdx.x == 0) {
      scales[r - at.row] = scale;
    }
    __syncthreads();
  }
  operands.x = values - at.row * own.task.padded;
  operands.x_scales = scales - at.row;
}

__device__ inline IntegerPlace few_place() {
  return {static_cast<int64_t>(blockIdx.y) * kFewRows, static_cast<int64_t>(blockIdx.x) * kFewColumns};
}

// Where element i of this lane is among those of the block.
__device__ inline int few_index(int i) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  return (lane / 4 + i / 2 * 8) * static_cast<int>(kFewColumns) + 2 * (lane % 4) + i % 2;
}

// value(element), of pairs of neighbours by one thread each.
template <class Value>
__device__ inline void finish_few(const IntegerOperands& operands, const IntegerPlace& at, const FinishForward& finish,
                                  const Value& value) {
  const int element = 2 * static_cast<int>(threadIdx.x);
  const int64_t r = at.row + element / kFewColumns, c = at.column + element % kFewColumns;
  if (element < kFewElements && r < operands.size.m && c < operands.size.n) {
    finish(r, c, value(r, c, element), value(r, c + 1, element + 1));
  }
}

// use(block, group, words of the left and of the right operand), of every kIntegerWarps-th block of k.
template <class Words, class Use>
__device__ inline void for_own_steps(const IntegerOperands& operands, const IntegerPlace& at, const Use& use) {
  for (int64_t block = threadIdx.x / kWarp; block < operands.blocks(); block += kIntegerWarps) {
    for_each_step<Words, 1, 1>(operands, at, block,
                               [&](int /*m*/, int /*n*/, int group, const LeftWords& left, const RightWords& right) {
                                 use(block, group, left, right);
                               });
  }
}

__global__ void __launch_bounds__(kIntegerThreads)
    int8_few(IntegerOperands operands, OwnRows own, FinishForward finish) {
  HEED_SHARED(shared);
  auto* const sums_of_warps = reinterpret_cast<int*>(shared);
  const IntegerPlace at = few_place();
  quantize_own_rows(own, at, shared, operands);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  int sums[4] = {};
  for_own_steps<Int8Words>(operands, at,
                           [&](int64_t /*block*/, int /*group*/, const LeftWords& left, const RightWords& right) {
                             multiply_add(sums, left, right);
                           });
  for (int i = 0; i < 4; ++i) {
    sums_of_warps[warp * kFewElements + few_index(i)] = sums[i];
  }
  __syncthreads();
  finish_few(operands, at, finish, [&](int64_t r, int64_t c, int element) {
    int sum = 0;
    for (int w = 0; w < kIntegerWarps; ++w) {
      sum += sums_of_warps[w * kFewElements + element];
    }
    return int8_value(operands, r, c, sum);
  });
}

// The sums of groups are at most 32 * 127 * 8: 16 bits hold them until they are added in order.
__global__ void __launch_bounds__(kIntegerThreads)
    int4_few(IntegerOperands operands, OwnRows own, FinishForward finish) {
  HEED_SHARED(shared);
  auto* const sums_of_groups = reinterpret_cast<int16_t*>(shared);
  const IntegerPlace at = few_place();
  quantize_own_rows(own, at, shared, operands);
  for_own_steps<Int4Words>(operands, at, [&](int64_t block, int group, const LeftWords& left, const RightWords& right) {
    int sums[4] = {};
    multiply_add(sums, left, right);
    for (int i = 0; i < 4; ++i) {
      sums_of_groups[(block * kGroupsOfInt4Block + group) * kFewElements + few_index(i)] =
          static_cast<int16_t>(sums[i]);
    }
  });
  __syncthreads();
  finish_few(operands, at, finish, [&](int64_t r, int64_t c, int element) {
    float total = 0.0F;
    for (int64_t group = 0; group < operands.groups(); ++group) {
      total += static_cast<float>(sums_of_groups[group * kFewElements + element]) * group_scale(operands, c, group);
    }
    return rounded_product(total, operands.x_scales[r]);
  });
}

Grid integer_grid(const ProductSize& size, int64_t rows, int64_t columns, int64_t shared_bytes) {
  return {dim3(static_cast<unsigned>(ceil_div(size.n, columns)), static_cast<unsigned>(ceil_div(size.m, rows))),
          dim3(kIntegerThreads), shared_bytes};
}

// Few rows, or too few tiles for all multiprocessors: then weights are read again for each 16 rows.
bool takes_few(const Context& context, const ProductSize& size) {
  constexpr int64_t kMostRows = 128;
  const int64_t tiles = ceil_div(size.m, Whole::kRows) * ceil_div(size.n, Whole::kColumns);
  return size.m <= kFewRows || (size.m <= kMostRows && tiles < context.queue.facts().multiprocessors);
}

template <class Weight>
IntegerOperands operands_of(int64_t rows, const Weight& weight) {
  IntegerOperands operands{};
  operands.x_stride = round_up(weight.columns(), kInt4Block);
  operands.weight = static_cast<const int8_t*>(device_address(weight.values.view()));
  operands.weight_stride = weight.values.view().columns();
  operands.size = {rows, weight.rows(), weight.columns()};
  if constexpr (std::is_same_v<Weight, PackedInt8>) {
    operands.scales = static_cast<const float*>(device_address(weight.scales.view()));
  } else {
    operands.group_scales = group_scales_of(weight);
  }
  return operands;
}

using WholeKernel = void (*)(IntegerOperands, FinishForward);
using FewKernel = void (*)(IntegerOperands, OwnRows, FinishForward);

struct IntegerKernels {
  WholeKernel whole;
  FewKernel few;
  int64_t few_bytes;  // of shared memory, a multiple of 16
};

void start(Context& context, const RowQuantization& task, IntegerOperands operands, const IntegerKernels& kernels,
           const FinishForward& finish) {
  const int64_t rows = operands.size.m, most_bytes = context.queue.facts().shared_bytes;
  OwnRows own{task, kernels.few_bytes};
  const int64_t all_bytes = kernels.few_bytes + own.bytes(rows);
  if (rows <= kMostOwnRows && all_bytes <= most_bytes) {
    launch(context.queue, integer_grid(operands.size, kFewRows, kFewColumns, all_bytes), kernels.few, operands, own,
           finish);
    return;
  }
  const IntegerRows integers = quantize_rows(context, task.x, rows, task.columns, task.input_scale, task.order);
  operands.x = static_cast<const int8_t*>(device_address(integers.values.view()));
  operands.x_scales = static_cast<const float*>(device_address(integers.scales.view()));
  own.offset = -1;
  if (takes_few(context, operands.size) && kernels.few_bytes <= most_bytes) {
    launch(context.queue, integer_grid(operands.size, kFewRows, kFewColumns, kernels.few_bytes), kernels.few, operands,
           own, finish);
  } else {
    launch(context.queue, integer_grid(operands.size, Whole::kRows, Whole::kColumns, 0), kernels.whole, operands,
           finish);
  }
}

}  // namespace

void multiply_integers(Context& context, const Elements& x, int64_t rows, const PackedInt8& weight,
                       const FinishForward& finish) {
  const IntegerOperands operands = operands_of(rows, weight);
  start(context, {x, weight.columns(), operands.x_stride, weight.input_scale, IntegerOrder::rows}, operands,
        {int8_product, int8_few, kIntegerWarps * kFewElements * 4}, finish);
}

void multiply_integers(Context& context, const Elements& x, int64_t rows, const PackedInt4& weight,
                       const FinishForward& finish) {
  const IntegerOperands operands = operands_of(rows, weight);
  start(context, {x, weight.columns(), operands.x_stride, 0.0F, IntegerOrder::blocks}, operands,
        {int4_product, int4_few, weight.scales.view().columns() * kFewElements * 2}, finish);
}

}  // namespace heed::cuda
