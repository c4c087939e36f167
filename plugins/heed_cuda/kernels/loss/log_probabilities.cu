// Log-probabilities: of all logits of a row, of some of them, and the mean of several models'.
#include "heed_cuda/kernels/loss/loss.cuh"
#include "heed_cuda/kernels/loss/loss.h"
#include "heed_cuda/kernels/machine/sweep.cuh"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

template <class T>
struct LogSoftmaxRows {
  Matrix<const T> logits;
  Matrix<float> log_probs;  // perhaps in the logits' memory
  bool aligned;
};

template <class T, int kTeam>
__global__ void __launch_bounds__(kTeamBlock<kTeam>) log_softmax_kernel(LogSoftmaxRows<T> of) {
  constexpr int kWidth = kPack<T>;
  HEED_SHARED(shared);
  float* const memory = reinterpret_cast<float*>(shared);
  const int64_t columns = of.logits.columns, first_column = member_of_team<kTeam>() * kWidth;
  for (int64_t row = team_of_grid<kTeam>(); row < of.logits.rows; row += teams_of_grid<kTeam>()) {
    ExponentialSum own;
    float z[kWidth];
    for (int64_t c = first_column; c < columns; c += kTeam * kWidth) {
      load_pack(of.logits.row(row) + c, columns - c, of.aligned, z);
      add_exponentials(z, columns - c, own);
    }
    const ExponentialSum all = team_exponentials<kTeam>(own, memory);
    const float log_sum_exp = all.largest + logf(all.total);
    for (int64_t c = first_column; c < columns; c += kTeam * kWidth) {
      load_pack(of.logits.row(row) + c, columns - c, of.aligned, z);
      HEED_UNROLL
      for (int j = 0; j < kWidth; ++j) {
        z[j] -= log_sum_exp;
      }
      store_pack(z, of.log_probs.row(row) + c, columns - c, of.aligned);
    }
  }
}

template <class T>
struct SelectedRows {
  Matrix<const T> logits;
  const int32_t* columns;
  Matrix<const int32_t> ranges;
  Matrix<float> log_probs;
};

// A warp for each row.
template <class T>
__global__ void selected_log_softmax_kernel(SelectedRows<T> of) {
  const int64_t row = thread_of_grid() / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (row >= of.log_probs.rows) {
    return;
  }
  const int32_t* const columns = of.columns + of.ranges(0, row);
  const int64_t count = of.ranges(1, row) - of.ranges(0, row);
  ExponentialSum own;
  for (int64_t i = lane; i < count; i += kWarp) {
    const float z[1] = {to_float(of.logits(row, columns[i]))};
    add_exponentials(z, 1, own);
  }
  const ExponentialSum all = team_exponentials<kWarp>(own, nullptr);
  const float log_sum_exp = all.largest + logf(all.total);
  for (int64_t i = lane; i < of.log_probs.columns; i += kWarp) {
    of.log_probs(row, i) = i < count ? to_float(of.logits(row, columns[i])) - log_sum_exp : -INFINITY;
  }
}

constexpr size_t kMostModels = 64;

// largest + log((sum of e^(x - largest)) / K). fmaxf passes over NaN, which the sum does not.
struct AveragePack {
  Matrix<const float> models[kMostModels];
  int count;
  Matrix<float> mean;
  bool aligned;

  __device__ void operator()(int64_t r, int64_t c, int64_t left) const {
    constexpr int kWidth = kPack<float>;
    float largest[kWidth], sum[kWidth] = {}, x[kWidth];
    HEED_UNROLL
    for (int j = 0; j < kWidth; ++j) {
      largest[j] = -INFINITY;
    }
    for (int k = 0; k < count; ++k) {
      load_pack(models[k].row(r) + c, left, aligned, x);
      HEED_UNROLL
      for (int j = 0; j < kWidth; ++j) {
        largest[j] = fmaxf(largest[j], x[j]);
      }
    }
    for (int k = 0; k < count; ++k) {
      load_pack(models[k].row(r) + c, left, aligned, x);
      HEED_UNROLL
      for (int j = 0; j < kWidth; ++j) {
        sum[j] += exponential(x[j], shift_of(largest[j]));
      }
    }
    HEED_UNROLL
    for (int j = 0; j < kWidth; ++j) {
      x[j] = largest[j] + logf(sum[j] / static_cast<float>(count));
    }
    store_pack(x, mean.row(r) + c, left, aligned);
  }
};

}  // namespace

void log_softmax(Context& context, const ConstView& logits, const View& log_probs) {
  if (logits.elements() == 0) {
    return;
  }
  Operands operands(context);
  for_storage(logits.type(), [&]<class T>(T) {
    LogSoftmaxRows<T> of{operands.in<T>(logits), operands.out<float>(log_probs), false};
    of.aligned = all_aligned(of.logits, of.log_probs);
    for_loss_team(logits.columns(), [&]<class Team>(Team) {
      constexpr int kTeam = Team::kThreadsOfRow;
      launch(context.queue, grid_of_teams<kTeam>(of.logits.rows, kTeam / kWarp * static_cast<int64_t>(sizeof(float))),
             log_softmax_kernel<T, kTeam>, of);
    });
  });
  operands.finish();
}

void selected_log_softmax(Context& context, const SelectedLogSoftmax& call) {
  if (call.log_probs.elements() == 0) {
    return;
  }
  Operands operands(context);
  for_storage(call.logits.type(), [&]<class T>(T) {
    launch(context.queue, grid_of_teams<kWarp>(call.log_probs.rows()), selected_log_softmax_kernel<T>,
           SelectedRows<T>{operands.in<T>(call.logits), operands.in<int32_t>(call.columns).data,
                           operands.in<int32_t>(call.ranges), operands.out<float>(call.log_probs)});
  });
  operands.finish();
}

void average_probabilities(Context& context, const AverageProbabilities& call) {
  ensure(!call.log_probs.empty() && call.log_probs.size() <= kMostModels, "cuda", "the mean of {} models",
         call.log_probs.size());
  Operands operands(context);
  AveragePack of{};
  of.mean = operands.out<float>(call.mean);
  of.aligned = all_aligned(of.mean);
  for (const ConstView& of_model : call.log_probs) {
    const Matrix<const float> model = operands.in<float>(of_model);
    of.aligned = of.aligned && all_aligned(model);
    of.models[of.count++] = model;
  }
  sweep<kPack<float>>(context, of.mean.rows, of.mean.columns, of);
  operands.finish();
}

}  // namespace heed::cuda
