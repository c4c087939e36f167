// The loss against a teacher's distribution.
#include "heed_cuda/kernels/loss/loss.cuh"
#include "heed_cuda/kernels/loss/loss.h"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

template <class T>
struct DistilRows {
  Matrix<const float> logits, teacher;
  const int32_t* targets;
  float smoothing, inverse_cap, temperature, weight;  // inverse_cap 0: none
  Matrix<float> losses;
  Matrix<T> d_logits;  // perhaps in the logits' memory
};

// A warp for each row.
template <class T>
__global__ void distil_loss_kernel(DistilRows<T> of) {
  const int64_t row = thread_of_grid() / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (row >= of.logits.rows) {
    return;
  }
  const int32_t target = of.targets[row];
  const int64_t columns = of.logits.columns;
  float largest = -INFINITY, taught = -INFINITY, sum = 0.0F;
  for (int64_t c = lane; c < columns; c += kWarp) {
    largest = fmaxf(largest, of.logits(row, c));
    taught = fmaxf(taught, of.teacher(row, c));
    sum += of.logits(row, c);
  }
  largest = warp_max(largest);
  taught = warp_max(taught);
  sum = warp_sum(sum);
  const float coldness = 1.0F / of.temperature;
  float plain = 0.0F, student = 0.0F, teacher = 0.0F, difference = 0.0F;
  for (int64_t c = lane; c < columns; c += kWarp) {
    const float a = of.logits(row, c) - largest, b = a * coldness, e = (of.teacher(row, c) - taught) * coldness;
    const float p = expf(e);
    plain += expf(a);
    student += expf(b);
    teacher += p;
    difference += p * (e - b);
  }
  plain = warp_sum(plain);
  student = warp_sum(student);
  teacher = warp_sum(teacher);
  difference = warp_sum(difference);
  const float gold = 1.0F - of.weight, spread = of.smoothing / static_cast<float>(columns);
  const float at_target = target < 0 ? 0.0F : of.logits(row, target);  // before the gradient takes its place
  __syncwarp();
  if (lane == 0) {
    const float log_sum_exp = largest + logf(plain);
    const float divergence = difference / teacher - logf(teacher) + logf(student);
    const float of_gold = log_sum_exp - (1.0F - of.smoothing) * at_target - spread * sum;
    of.losses(row, 0) = target < 0 ? 0.0F : of.weight * of.temperature * of.temperature * divergence + gold * of_gold;
    of.losses(row, 1) = target < 0 ? 0.0F : log_sum_exp - at_target;
  }
  if (of.d_logits.empty()) {
    return;
  }
  const float share = of.weight * of.temperature;
  for (int64_t c = lane; c < columns; c += kWarp) {
    const float z = of.logits(row, c), a = z - largest, e = (of.teacher(row, c) - taught) * coldness;
    const float g = c == target ? spread + (1.0F - of.smoothing) : spread;
    const float slope = 1.0F - z * of.inverse_cap * (z * of.inverse_cap);
    const float d_z = share * (expf(a * coldness) / student - expf(e) / teacher) + gold * (expf(a) / plain - g);
    of.d_logits(row, c) = from_float<T>(target < 0 ? 0.0F : d_z * slope);
  }
}

}  // namespace

void distil_loss(Context& context, const DistilLoss& call) {
  if (call.logits.rows() == 0) {
    return;
  }
  Operands operands(context);
  for_storage(call.d_logits.empty() ? DType::f32 : call.d_logits.type(), [&]<class T>(T) {
    launch(context.queue, grid_of_teams<kWarp>(call.logits.rows()), distil_loss_kernel<T>,
           DistilRows<T>{operands.in<float>(call.logits), operands.in<float>(call.teacher),
                         operands.in<int32_t>(call.targets).data, static_cast<float>(call.smoothing),
                         call.cap > 0.0 ? static_cast<float>(1.0 / call.cap) : 0.0F,
                         static_cast<float>(call.temperature), static_cast<float>(call.weight),
                         operands.out<float>(call.losses), operands.out<T>(call.d_logits)});
  });
  operands.finish();
}

}  // namespace heed::cuda
