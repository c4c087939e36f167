#include "heed_cuda/kernels/rows/column_sums.h"
#include "heed_cuda/kernels/rows/norm.cuh"
#include "heed_cuda/kernels/rows/rows.h"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

// Two sums at a time.
struct PairOfSums {
  float first, second;

  __device__ PairOfSums operator+(const PairOfSums& other) const {
    return {first + other.first, second + other.second};
  }
};
__device__ inline PairOfSums warp_sum(const PairOfSums& x) {
  return {heed::cuda::warp_sum(x.first), heed::cuda::warp_sum(x.second)};
}

template <class T>
struct NormGradientRows {
  Matrix<const T> sum, d_normed, d_sum;
  Matrix<const float> statistics, gain;
  Dropout dropout;
  Matrix<T> d_residual, d_branch;
  float* d_gain;  // [blocks, columns], or null: sums over a block's rows
  float* d_bias;
  float gain_shift;
  NormKind kind;
  Write write;
  int64_t groups, columns, rows_of_block;
  bool aligned;
};

// d_residual (+)= total + d_sum, d_branch = dropout(total + d_sum).
template <class T>
__device__ inline void store_gradient(const NormGradientRows<T>& of, const GroupedRow& at, int64_t column,
                                      float (&total)[kPack<T>]) {
  const int64_t c = at.first_column + column, left = of.columns - column;
  float other[kPack<T>];
  if (!of.d_sum.empty()) {
    load_pack(of.d_sum.row(at.row) + c, left, of.aligned, other);
    HEED_UNROLL
    for (int j = 0; j < kPack<T>; ++j) {
      total[j] += other[j];
    }
  }
  if (!of.d_residual.empty()) {
    HEED_UNROLL
    for (int j = 0; j < kPack<T>; ++j) {
      other[j] = 0.0F;
    }
    if (of.write == Write::add) {
      load_pack(of.d_residual.row(at.row) + c, left, of.aligned, other);
    }
    HEED_UNROLL
    for (int j = 0; j < kPack<T>; ++j) {
      other[j] += total[j];
    }
    store_pack(other, of.d_residual.row(at.row) + c, left, of.aligned);
  }
  if (!of.d_branch.empty()) {
    drop_pack(of.dropout, at.row, c, total);
    store_pack(total, of.d_branch.row(at.row) + c, left, of.aligned);
  }
}

// A sum without a norm.
template <class T>
struct PassGradient {
  NormGradientRows<T> of;

  __device__ void operator()(int64_t r, int64_t c, int64_t /*left*/) const {
    float nothing[kPack<T>] = {};
    store_gradient(of, {r, 0}, c, nothing);
  }
};

// The columns' sums of what each thread has seen: over the warps of a block in their order, where each has rows of its
// own.
template <class Team, int kWidth>
__device__ inline void store_column_sums(const float (&sums)[Team::kPacksOfThread][kWidth], float* to, int64_t columns,
                                         float* memory) {
  constexpr int kTeams = kTeamsOfBlock<Team::kThreadsOfRow>;
  if constexpr (kTeams == 1) {
    each_pack<Team, kWidth>(
        columns, [&](int pack, int64_t column) { store_pack(sums[pack], to + column, columns - column, false); });
  } else {
    constexpr int kColumns = Team::kThreadsOfRow * Team::kPacksOfThread * kWidth;
    float* const own = memory + threadIdx.x / kWarp * kColumns;
    each_pack<Team, kWidth>(columns, [&](int pack, int64_t column) {
      HEED_UNROLL
      for (int j = 0; j < kWidth; ++j) {
        own[column + j] = sums[pack][j];
      }
    });
    __syncthreads();
    for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
      float sum = memory[c];
      for (int team = 1; team < kTeams; ++team) {
        sum += memory[team * kColumns + c];
      }
      to[c] = sum;
    }
    __syncthreads();
  }
}

// With n = (sum - mean) / deviation, and g = d_normed * gain:
//   layer: d_sum = (g - mean(g) - n mean(g n)) / deviation        rms: d_sum = (g - n mean(g n)) / deviation
//   d_gain = sum over rows of d_normed * n                        d_bias = sum over rows of d_normed
// A block takes rows_of_block rows.
template <class T, class Team>
__global__ void __launch_bounds__(kTeamBlock<Team::kThreadsOfRow>) norm_backward_kernel(NormGradientRows<T> of) {
  constexpr int kTeam = Team::kThreadsOfRow, kPacks = Team::kPacksOfThread, kWidth = kPack<T>;
  HEED_SHARED(shared);
  float* const memory = reinterpret_cast<float*>(shared);
  const auto columns = static_cast<float>(of.columns);
  const int64_t rows = of.sum.rows * of.groups, first = blockIdx.x * of.rows_of_block;
  const int64_t end = min(rows, first + of.rows_of_block);
  float d_gain[kPacks][kWidth] = {}, d_bias[kPacks][kWidth] = {};
  for (int64_t i = first + threadIdx.x / kTeam; i < end; i += kTeamsOfBlock<kTeam>) {
    const GroupedRow at = grouped_row(i, of.groups, of.columns);
    const float* const saved = of.statistics.row(at.row) + 2 * (at.first_column / of.columns);
    const float mean = saved[0], inverse = saved[1];
    float n[kPacks][kWidth], g[kPacks][kWidth];
    float sum_g = 0.0F, sum_gn = 0.0F;
    each_pack<Team, kWidth>(of.columns, [&](int pack, int64_t column) {
      const int64_t c = at.first_column + column, left = of.columns - column;
      float gain[kWidth];
      load_pack(of.sum.row(at.row) + c, left, of.aligned, n[pack]);
      load_pack(of.d_normed.row(at.row) + c, left, of.aligned, g[pack]);
      if (!of.gain.empty()) {
        load_pack(of.gain.data + column, left, of.aligned, gain);
      }
      HEED_UNROLL
      for (int j = 0; j < kWidth; ++j) {
        n[pack][j] = (n[pack][j] - mean) * inverse;
        d_gain[pack][j] += g[pack][j] * n[pack][j];
        d_bias[pack][j] += g[pack][j];
        g[pack][j] *= of.gain.empty() ? 1.0F : gain[j] + of.gain_shift;
        sum_g += g[pack][j];
        sum_gn += g[pack][j] * n[pack][j];  // beyond the last column g is 0
      }
    });
    const PairOfSums sums = team_sum<kTeam>(PairOfSums{sum_g, sum_gn}, reinterpret_cast<PairOfSums*>(memory));
    const float mean_g = of.kind == NormKind::layer ? sums.first / columns : 0.0F, mean_gn = sums.second / columns;
    each_pack<Team, kWidth>(of.columns, [&](int pack, int64_t column) {
      float total[kWidth];
      HEED_UNROLL
      for (int j = 0; j < kWidth; ++j) {
        total[j] = (g[pack][j] - mean_g - n[pack][j] * mean_gn) * inverse;
      }
      store_gradient(of, at, column, total);
    });
  }
  if (of.d_gain != nullptr) {
    store_column_sums<Team, kWidth>(d_gain, of.d_gain + blockIdx.x * of.columns, of.columns, memory);
  }
  if (of.d_bias != nullptr) {
    store_column_sums<Team, kWidth>(d_bias, of.d_bias + blockIdx.x * of.columns, of.columns, memory);
  }
}

// Enough rows for few blocks, and so for few partial sums of columns.
int64_t rows_of_norm_block(int64_t rows) {
  constexpr int64_t kMostBlocks = 528, kLeastRows = 8;
  return round_up(std::max(kLeastRows, ceil_div(rows, kMostBlocks)), kLeastRows);
}

template <class T, class Team>
void run_norm_backward(Context& context, NormGradientRows<T> of, float* d_gain, float* d_bias) {
  constexpr int kTeam = Team::kThreadsOfRow;
  const int64_t rows = of.sum.rows * of.groups;
  of.rows_of_block = rows_of_norm_block(rows);
  const int64_t blocks = ceil_div(rows, of.rows_of_block);
  const Tensor partial({2, blocks * of.columns}, DType::f32, context.arena);
  auto* const sums = static_cast<float*>(device_address(partial.view()));
  of.d_gain = d_gain == nullptr ? nullptr : sums;
  of.d_bias = d_bias == nullptr ? nullptr : sums + blocks * of.columns;
  constexpr int64_t kColumns = int64_t{Team::kThreadsOfRow} * Team::kPacksOfThread * kPack<T>;
  constexpr int64_t kFloats = kTeam == kWarp ? kTeamsOfBlock<kTeam> * kColumns : 2 * kTeam / kWarp;
  launch(context.queue, grid_of_blocks(blocks, kTeamBlock<kTeam>, kFloats * static_cast<int64_t>(sizeof(float))),
         norm_backward_kernel<T, Team>, of);
  add_column_sums(context, {of.d_gain, d_gain}, {of.d_bias, d_bias}, blocks, of.columns);
}

}  // namespace

void add_norm_backward(Context& context, const AddNormBackward& call) {
  if (call.d_residual.elements() == 0 && call.d_branch.elements() == 0) {
    return;
  }
  Operands operands(context);
  const View& like = call.d_residual.empty() ? call.d_branch : call.d_residual;
  for_storage(like.type(), [&]<class T>(T) {
    const Matrix<T> d_residual =
        call.write_residual == Write::add ? operands.in_out<T>(call.d_residual) : operands.out<T>(call.d_residual);
    NormGradientRows<T> of{.sum = operands.in<T>(call.sum),
                           .d_normed = operands.in<T>(call.d_normed),
                           .d_sum = operands.in<T>(call.d_sum),
                           .statistics = operands.in<float>(call.statistics),
                           .gain = operands.in<float>(call.gain),
                           .dropout = call.dropout,
                           .d_residual = d_residual,
                           .d_branch = operands.out<T>(call.d_branch),
                           .d_gain = nullptr,
                           .d_bias = nullptr,
                           .gain_shift = call.gain_form == NormGain::plus_one ? 1.0F : 0.0F,
                           .kind = call.kind,
                           .write = call.write_residual,
                           .groups = call.groups,
                           .columns = like.columns() / call.groups,
                           .rows_of_block = 0,
                           .aligned = false};
    of.aligned = all_aligned(of.sum, of.d_normed, of.d_sum, of.gain, of.d_residual, of.d_branch) &&
                 (call.groups == 1 || of.columns % kPack<T> == 0);
    if (of.d_normed.empty()) {
      of.columns = like.columns();
      return sweep<kPack<T>>(context, like.rows(), like.columns(), PassGradient<T>{of});
    }
    float* const d_gain = operands.in_out<float>(call.d_gain).data;
    float* const d_bias = operands.in_out<float>(call.d_bias).data;
    for_row_team<T>(ceil_div(of.columns, kPack<T>),
                    [&]<class Team>(Team) { run_norm_backward<T, Team>(context, of, d_gain, d_bias); });
  });
  operands.finish();
}

}  // namespace heed::cuda
