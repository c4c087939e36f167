#include "heed_cuda/kernels/loss/loss.h"

#include <algorithm>

#include "heed_cuda/kernels/loss/loss.cuh"
#include "heed_cuda/kernels/product/products.h"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

// With z capped, if there is a cap:
//   q = (1 - s) onehot(target) + s / V    loss = lse(z) - q.z    d_logits = (softmax(z) - q) * the cap's slope
template <class Logits, class Gradient>
struct LossRows {
  Matrix<const Logits> logits;
  const int32_t* targets;
  float smoothing, cap, inverse_cap;  // cap 0: none
  Matrix<float> losses;
  Matrix<Gradient> d_logits;  // perhaps in the logits' memory
  bool aligned_logits, aligned_gradient;

  __device__ float capped(float z) const { return cap > 0.0F ? cap * tanhf(z * inverse_cap) : z; }
  __device__ float slope(float z) const {
    const float share = z * inverse_cap;
    return cap > 0.0F ? 1.0F - share * share : 1.0F;
  }
};

template <int kTeam, class Rows>
__device__ inline void ignore_row(const Rows& of, int64_t row) {
  if (member_of_team<kTeam>() == 0) {
    of.losses(row, 0) = of.losses(row, 1) = 0.0F;
  }
  if (!of.d_logits.empty()) {
    constexpr int kWidth = kPack<std::remove_reference_t<decltype(of.d_logits(0, 0))>>;
    const float nothing[kWidth] = {};
    for (int64_t c = member_of_team<kTeam>() * kWidth; c < of.logits.columns; c += kTeam * kWidth) {
      store_pack(nothing, of.d_logits.row(row) + c, of.logits.columns - c, of.aligned_gradient);
    }
  }
}

template <int kTeam, class Logits, class Gradient>
__global__ void __launch_bounds__(kTeamBlock<kTeam>) loss_kernel(LossRows<Logits, Gradient> of) {
  constexpr int kWidth = std::max(kPack<Logits>, kPack<Gradient>);
  HEED_SHARED(shared);
  float* const memory = reinterpret_cast<float*>(shared);
  const int64_t columns = of.logits.columns;
  const int64_t first_column = member_of_team<kTeam>() * kWidth;
  for (int64_t row = team_of_grid<kTeam>(); row < of.logits.rows; row += teams_of_grid<kTeam>()) {
    const int32_t target = of.targets[row];
    if (target < 0) {
      ignore_row<kTeam>(of, row);
      continue;
    }
    const float at_target = of.capped(to_float(of.logits(row, target)));
    ExponentialSum own;
    float sum = 0.0F;
    float z[kWidth];
    for (int64_t c = first_column; c < columns; c += kTeam * kWidth) {
      load_pack(of.logits.row(row) + c, columns - c, of.aligned_logits, z);
      HEED_UNROLL
      for (int j = 0; j < kWidth; ++j) {
        z[j] = of.capped(z[j]);
        sum += z[j];  // beyond the last column 0
      }
      add_exponentials(z, columns - c, own);
    }
    const ExponentialSum all = team_exponentials<kTeam>(own, memory);
    sum = team_sum<kTeam>(sum, memory);
    if (member_of_team<kTeam>() == 0) {
      const float log_sum_exp = all.largest + logf(all.total);
      of.losses(row, 0) =
          log_sum_exp - (1.0F - of.smoothing) * at_target - of.smoothing * (sum / static_cast<float>(columns));
      of.losses(row, 1) = log_sum_exp - at_target;
    }
    if (of.d_logits.empty()) {
      continue;
    }
    __syncwarp();  // all have read the target's logit, which may be overwritten; a larger team has waited already
    const float shift = shift_of(all.largest), factor = 1.0F / all.total;
    const float spread = of.smoothing / static_cast<float>(columns);
    for (int64_t c = first_column; c < columns; c += kTeam * kWidth) {
      load_pack(of.logits.row(row) + c, columns - c, of.aligned_logits, z);
      HEED_UNROLL
      for (int j = 0; j < kWidth; ++j) {
        const float capped = of.capped(z[j]);
        const float q = c + j == target ? spread + (1.0F - of.smoothing) : spread;
        z[j] = (exponential(capped, shift) * factor - q) * of.slope(capped);
      }
      store_pack(z, of.d_logits.row(row) + c, columns - c, of.aligned_gradient);
    }
  }
}

template <class Logits, class Gradient>
void run_loss(Context& context, LossRows<Logits, Gradient> of) {
  of.aligned_logits = all_aligned(of.logits);
  of.aligned_gradient = all_aligned(of.d_logits);
  of.inverse_cap = of.cap > 0.0F ? 1.0F / of.cap : 0.0F;
  if (of.logits.rows == 0) {
    return;
  }
  for_loss_team(of.logits.columns, [&]<class Team>(Team) {
    constexpr int kTeam = Team::kThreadsOfRow;
    launch(context.queue, grid_of_teams<kTeam>(of.logits.rows, kTeam / kWarp * static_cast<int64_t>(sizeof(float))),
           loss_kernel<kTeam, Logits, Gradient>, of);
  });
}

}  // namespace

// All rows at once: callers have divided them already, so that their gradients take bounded memory.
void output_loss(Context& context, const OutputLoss& call) {
  const int64_t rows = call.x.rows(), vocabulary = call.weight.rows();
  if (rows == 0) {
    return;
  }
  Operands operands(context);
  for_storage(call.x.type(), [&]<class T>(T) {
    const Matrix<T> d_logits = operands.out<T>(call.d_logits);
    // In f32 the logits lie where their gradients will.
    const bool in_place = std::is_same_v<T, float> && !d_logits.empty() && call.d_logits.device() != Device::cpu;
    const Tensor scratch = in_place ? Tensor() : Tensor({rows, round_up(vocabulary, 16)}, DType::f32, context.arena);
    const View logits = in_place ? call.d_logits : scratch.view().column_range(0, vocabulary);
    linear(context, {.x = call.x, .weight = call.weight, .bias = call.bias, .y = logits});
    run_loss<float, T>(context, {.logits = operands.in<float>(logits),
                                 .targets = operands.in<int32_t>(call.targets).data,
                                 .smoothing = static_cast<float>(call.smoothing),
                                 .cap = static_cast<float>(call.cap),
                                 .inverse_cap = 0.0F,
                                 .losses = operands.out<float>(call.losses),
                                 .d_logits = d_logits});
  });
  operands.finish();
}

void cross_entropy(Context& context, const CrossEntropy& call) {
  Operands operands(context);
  for_storage(call.logits.type(), [&]<class T>(T) {
    const auto run = [&]<class Gradient>(Gradient) {
      run_loss<T, Gradient>(context, {.logits = operands.in<T>(call.logits),
                                      .targets = operands.in<int32_t>(call.targets).data,
                                      .smoothing = static_cast<float>(call.smoothing),
                                      .cap = 0.0F,
                                      .inverse_cap = 0.0F,
                                      .losses = operands.out<float>(call.losses),
                                      .d_logits = operands.out<Gradient>(call.d_logits)});
    };
    if (call.d_logits.empty()) {
      run(T{});
    } else {
      for_storage(call.d_logits.type(), run);
    }
  });
  operands.finish();
}

}  // namespace heed::cuda
