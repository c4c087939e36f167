// The loss over a vocabulary whose logits are divided among ranks, and the loss of labels.
#include "heed_cuda/kernels/loss/loss.cuh"
#include "heed_cuda/kernels/loss/loss.h"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

template <int kTeam>
__global__ void __launch_bounds__(kTeamBlock<kTeam>)
    logit_sums_kernel(Matrix<const float> logits, const int32_t* targets, Matrix<float> sums, bool aligned) {
  constexpr int kWidth = kPack<float>;
  HEED_SHARED(shared);
  float* const memory = reinterpret_cast<float*>(shared);
  for (int64_t row = team_of_grid<kTeam>(); row < logits.rows; row += teams_of_grid<kTeam>()) {
    ExponentialSum own;
    float sum = 0.0F, z[kWidth];
    for (int64_t c = member_of_team<kTeam>() * kWidth; c < logits.columns; c += kTeam * kWidth) {
      load_pack(logits.row(row) + c, logits.columns - c, aligned, z);
      add_exponentials(z, logits.columns - c, own);
      HEED_UNROLL
      for (int j = 0; j < kWidth; ++j) {
        sum += z[j];
      }
    }
    const ExponentialSum all = team_exponentials<kTeam>(own, memory);
    sum = team_sum<kTeam>(sum, memory);
    if (member_of_team<kTeam>() == 0) {
      const int32_t target = targets[row];
      sums(row, 0) = all.largest;
      sums(row, 1) = all.total;
      sums(row, 2) = sum;
      sums(row, 3) = target < 0 ? 0.0F : logits(row, target);
    }
  }
}

constexpr size_t kMostRanks = 64;

template <class T>
struct DividedRows {
  Matrix<const float> logits;
  const int32_t* targets;
  Matrix<const float> sums[kMostRanks];
  int ranks;
  float smoothing, vocabulary, inverse_cap;  // inverse_cap 0: none
  Matrix<float> losses;
  Matrix<T> d_logits;  // perhaps in the logits' memory
  bool aligned;
};

template <class T, int kTeam>
__global__ void __launch_bounds__(kTeamBlock<kTeam>) divided_loss_kernel(DividedRows<T> of) {
  constexpr int kWidth = kPack<T>;
  for (int64_t row = team_of_grid<kTeam>(); row < of.logits.rows; row += teams_of_grid<kTeam>()) {
    float largest = -INFINITY, total = 0.0F, sum = 0.0F, at_target = 0.0F;
    for (int rank = 0; rank < of.ranks; ++rank) {
      largest = fmaxf(largest, of.sums[rank](row, 0));
    }
    for (int rank = 0; rank < of.ranks; ++rank) {
      total += of.sums[rank](row, 1) * exponential(of.sums[rank](row, 0), shift_of(largest));
      sum += of.sums[rank](row, 2);
      at_target += of.sums[rank](row, 3);
    }
    const float spread = of.smoothing / of.vocabulary;
    if (member_of_team<kTeam>() == 0) {
      const float log_sum_exp = largest + logf(total);
      of.losses(row, 0) = log_sum_exp - (1.0F - of.smoothing) * at_target - of.smoothing * (sum / of.vocabulary);
      of.losses(row, 1) = log_sum_exp - at_target;
    }
    const int64_t columns = of.d_logits.columns;  // 0 where no gradient is needed
    const int32_t target = of.targets[row];
    const float factor = 1.0F / total, shift = shift_of(largest);
    for (int64_t c = member_of_team<kTeam>() * kWidth; c < columns; c += kTeam * kWidth) {
      float z[kWidth];
      load_pack(of.logits.row(row) + c, columns - c, of.aligned, z);
      HEED_UNROLL
      for (int j = 0; j < kWidth; ++j) {
        const float share = z[j] * of.inverse_cap;
        const float q = c + j == target ? spread + (1.0F - of.smoothing) : spread;
        z[j] = (exponential(z[j], shift) * factor - q) * (1.0F - share * share);
      }
      store_pack(z, of.d_logits.row(row) + c, columns - c, of.aligned);
    }
  }
}

template <class T>
struct LabelRows {
  LabelLossKind kind;
  Matrix<const T> logits;
  Matrix<const float> targets;
  Matrix<float> losses;
  Matrix<T> d_logits;
};

// A warp for each row: there are few labels.
template <class T>
__global__ void label_loss_kernel(LabelRows<T> of) {
  const int64_t row = thread_of_grid() / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (row >= of.logits.rows) {
    return;
  }
  float loss = 0.0F;
  for (int64_t c = lane; c < of.logits.columns; c += kWarp) {
    const float z = to_float(of.logits(row, c)), t = of.targets(row, c);
    float slope = z - t;
    if (of.kind == LabelLossKind::squared) {
      loss += slope * slope * 0.5F;
    } else {
      loss += fmaxf(z, 0.0F) + log1pf(expf(-fabsf(z))) - t * z;
      slope = 1.0F / (1.0F + expf(-z)) - t;
    }
    if (!of.d_logits.empty()) {
      of.d_logits(row, c) = from_float<T>(slope);
    }
  }
  loss = warp_sum(loss);
  if (lane == 0) {
    of.losses(row, 0) = of.losses(row, 1) = loss;
  }
}

}  // namespace

void logit_sums(Context& context, const LogitSums& call) {
  if (call.logits.rows() == 0) {
    return;
  }
  Operands operands(context);
  const Matrix<const float> logits = operands.in<float>(call.logits);
  for_loss_team(logits.columns, [&]<class Team>(Team) {
    constexpr int kTeam = Team::kThreadsOfRow;
    launch(context.queue, grid_of_teams<kTeam>(logits.rows, kTeam / kWarp * static_cast<int64_t>(sizeof(float))),
           logit_sums_kernel<kTeam>, logits, operands.in<int32_t>(call.targets).data, operands.out<float>(call.sums),
           all_aligned(logits));
  });
  operands.finish();
}

void divided_loss(Context& context, const DividedLoss& call) {
  ensure(call.sums.size() <= kMostRanks, "cuda", "logits of {} ranks", call.sums.size());
  if (call.logits.rows() == 0) {
    return;
  }
  Operands operands(context);
  for_storage(call.d_logits.empty() ? DType::f32 : call.d_logits.type(), [&]<class T>(T) {
    DividedRows<T> of{};
    of.logits = operands.in<float>(call.logits);
    of.targets = operands.in<int32_t>(call.targets).data;
    for (const ConstView& sums : call.sums) {
      of.sums[of.ranks++] = operands.in<float>(sums);
    }
    of.smoothing = static_cast<float>(call.smoothing);
    of.vocabulary = static_cast<float>(call.vocabulary);
    of.inverse_cap = call.cap > 0.0 ? static_cast<float>(1.0 / call.cap) : 0.0F;
    of.losses = operands.out<float>(call.losses);
    of.d_logits = operands.out<T>(call.d_logits);
    of.aligned = all_aligned(of.logits, of.d_logits);
    for_loss_team(of.logits.columns, [&]<class Team>(Team) {
      constexpr int kTeam = Team::kThreadsOfRow;
      launch(context.queue, grid_of_teams<kTeam>(of.logits.rows), divided_loss_kernel<T, kTeam>, of);
    });
  });
  operands.finish();
}

void label_loss(Context& context, const LabelLoss& call) {
  if (call.logits.rows() == 0) {
    return;
  }
  Operands operands(context);
  for_storage(call.logits.type(), [&]<class T>(T) {
    launch(context.queue, grid_of_teams<kWarp>(call.logits.rows()), label_loss_kernel<T>,
           LabelRows<T>{call.kind, operands.in<T>(call.logits), operands.in<float>(call.targets),
                        operands.out<float>(call.losses), operands.out<T>(call.d_logits)});
  });
  operands.finish();
}

}  // namespace heed::cuda
