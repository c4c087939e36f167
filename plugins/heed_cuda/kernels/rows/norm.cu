#include "heed_cuda/kernels/rows/norm.cuh"

#include "heed_cuda/kernels/rows/rows.h"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

template <class T>
struct NormRows {
  Matrix<const T> residual, branch;
  Dropout dropout;
  Matrix<T> sum, normed;
  Matrix<float> statistics;
  Matrix<const float> gain, bias;
  float gain_shift, epsilon;
  NormKind kind;
  int64_t groups, columns;  // of a group
  bool aligned;
};

// x = what is normalized: residual + dropout(branch), as it is stored.
template <class T>
__device__ inline void load_sum(const NormRows<T>& of, const GroupedRow& at, int64_t column, float (&x)[kPack<T>]) {
  const int64_t c = at.first_column + column, left = of.columns - column;
  load_pack(of.residual.row(at.row) + c, left, of.aligned, x);
  if (!of.branch.empty()) {
    float added[kPack<T>];
    load_pack(of.branch.row(at.row) + c, left, of.aligned, added);
    drop_pack(of.dropout, at.row, c, added);
    HEED_UNROLL
    for (int j = 0; j < kPack<T>; ++j) {
      x[j] = rounded<T>(x[j] + added[j]);
    }
    store_pack(x, of.sum.row(at.row) + c, left, of.aligned);
  }
}

template <class T>
__device__ inline void store_normed(const NormRows<T>& of, const GroupedRow& at, int64_t column,
                                    const float (&x)[kPack<T>], float mean, float inverse) {
  const int64_t left = of.columns - column;
  float gain[kPack<T>], bias[kPack<T>], y[kPack<T>];
  HEED_UNROLL
  for (int j = 0; j < kPack<T>; ++j) {
    gain[j] = 1.0F;
    bias[j] = 0.0F;
  }
  if (!of.gain.empty()) {
    load_pack(of.gain.data + column, left, of.aligned, gain);
    HEED_UNROLL
    for (int j = 0; j < kPack<T>; ++j) {
      gain[j] += of.gain_shift;
    }
  }
  if (!of.bias.empty()) {
    load_pack(of.bias.data + column, left, of.aligned, bias);
  }
  HEED_UNROLL
  for (int j = 0; j < kPack<T>; ++j) {
    y[j] = (x[j] - mean) * inverse * gain[j] + bias[j];
  }
  store_pack(y, of.normed.row(at.row) + at.first_column + column, left, of.aligned);
}

// A team for each group of each row, whose values stay in registers.
template <class T, class Team>
__global__ void __launch_bounds__(kTeamBlock<Team::kThreadsOfRow>) norm_kernel(NormRows<T> of) {
  constexpr int kTeam = Team::kThreadsOfRow, kWidth = kPack<T>;
  HEED_SHARED(shared);
  float* const memory = reinterpret_cast<float*>(shared);
  const auto columns = static_cast<float>(of.columns);
  const int64_t rows = of.residual.rows * of.groups;
  for (int64_t i = team_of_grid<kTeam>(); i < rows; i += teams_of_grid<kTeam>()) {
    const GroupedRow at = grouped_row(i, of.groups, of.columns);
    float x[Team::kPacksOfThread][kWidth];
    float total = 0.0F, squares = 0.0F;
    each_pack<Team, kWidth>(of.columns, [&](int pack, int64_t column) {
      load_sum(of, at, column, x[pack]);
      HEED_UNROLL
      for (int j = 0; j < kWidth; ++j) {
        total += x[pack][j];
      }
    });
    if (of.normed.empty()) {
      continue;
    }
    const float mean = of.kind == NormKind::layer ? team_sum<kTeam>(total, memory) / columns : 0.0F;
    each_pack<Team, kWidth>(of.columns, [&](int pack, int64_t column) {
      HEED_UNROLL
      for (int j = 0; j < kWidth; ++j) {
        const float difference = column + j < of.columns ? x[pack][j] - mean : 0.0F;
        squares += difference * difference;
      }
    });
    const float inverse = 1.0F / sqrtf(team_sum<kTeam>(squares, memory) / columns + of.epsilon);
    each_pack<Team, kWidth>(of.columns,
                            [&](int pack, int64_t column) { store_normed(of, at, column, x[pack], mean, inverse); });
    if (member_of_team<kTeam>() == 0 && !of.statistics.empty()) {
      float* const saved = of.statistics.row(at.row) + 2 * (at.first_column / of.columns);
      saved[0] = mean;
      saved[1] = inverse;
    }
  }
}

}  // namespace

void add_norm(Context& context, const AddNormForward& call) {
  if (call.residual.elements() == 0) {
    return;
  }
  Operands operands(context);
  for_storage(call.residual.type(), [&]<class T>(T) {
    NormRows<T> of{.residual = operands.in<T>(call.residual),
                   .branch = operands.in<T>(call.branch),
                   .dropout = call.dropout,
                   .sum = operands.out<T>(call.sum),
                   .normed = operands.out<T>(call.normed),
                   .statistics = operands.out<float>(call.statistics),
                   .gain = operands.in<float>(call.gain),
                   .bias = operands.in<float>(call.bias),
                   .gain_shift = call.gain_form == NormGain::plus_one ? 1.0F : 0.0F,
                   .epsilon = static_cast<float>(call.epsilon),
                   .kind = call.kind,
                   .groups = call.groups,
                   .columns = call.residual.columns() / call.groups,
                   .aligned = false};
    of.aligned = all_aligned(of.residual, of.branch, of.sum, of.normed, of.gain, of.bias) &&
                 (call.groups == 1 || of.columns % kPack<T> == 0);
    for_row_team<T>(ceil_div(of.columns, kPack<T>), [&]<class Team>(Team) {
      constexpr int kTeam = Team::kThreadsOfRow;
      launch(context.queue,
             grid_of_teams<kTeam>(of.residual.rows * of.groups, kTeam / kWarp * static_cast<int64_t>(sizeof(float))),
             norm_kernel<T, Team>, of);
    });
  });
  operands.finish();
}

}  // namespace heed::cuda
