#include "kernels/cpu/loss/divided_loss.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/loss/divided_loss.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/elementwise/soft_cap-inl.h"
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

void sum_logits_of_row(const LogitSums& call, int64_t r) {
  const Floats d;
  const float* const z = host<float>(call.logits).row(r);
  const int64_t columns = call.logits.columns();
  const int32_t target = host<int32_t>(call.targets).data[r];
  Vec highest = hn::Set(d, z[0]), sum = hn::Zero(d);
  each_vector(columns, [&](int64_t c, int64_t left) HWY_ATTR {
    const auto there = hn::FirstN(d, static_cast<size_t>(std::min(left, lanes())));
    const Vec x = load_upto(z + c, left);
    highest = hn::IfThenElse(there, hn::Max(highest, x), highest);
    sum = hn::Add(sum, hn::IfThenElseZero(there, x));
  });
  const float maximum = hn::GetLane(hn::MaxOfLanes(d, highest));
  const Vec shift = hn::Set(d, maximum), log2_e = hn::Set(d, kLog2E);
  Vec exponentials = hn::Zero(d);
  each_vector(columns, [&](int64_t c, int64_t left) HWY_ATTR {
    const auto there = hn::FirstN(d, static_cast<size_t>(std::min(left, lanes())));
    const Vec e = exp2_of(hn::Mul(hn::Sub(load_upto(z + c, left), shift), log2_e));
    exponentials = hn::Add(exponentials, hn::IfThenElseZero(there, e));
  });
  float* const sums = host<float>(call.sums).row(r);
  sums[0] = maximum;
  sums[1] = hn::GetLane(hn::SumOfLanes(d, exponentials));
  sums[2] = hn::GetLane(hn::SumOfLanes(d, sum));
  sums[3] = target < 0 ? 0.0F : z[target];
}

// A row over all ranks: the largest logit, the sum of e^(z - largest), and those of the losses.
struct WholeRow {
  float maximum = 0.0F, total = 0.0F, sum = 0.0F, at_target = 0.0F;
};

WholeRow whole_row(const DividedLoss& call, int64_t r) {
  WholeRow whole{.maximum = *host<float>(call.sums.front()).row(r)};
  for (const ConstView& part : call.sums) {
    // Written so that NaN stays NaN.
    const float maximum = *host<float>(part).row(r);
    whole.maximum = maximum <= whole.maximum ? whole.maximum : maximum;
  }
  for (const ConstView& part : call.sums) {
    const float* const sums = host<float>(part).row(r);
    whole.total += sums[1] * std::exp(sums[0] - whole.maximum);
    whole.sum += sums[2];
    whole.at_target += sums[3];
  }
  return whole;
}

template <class T>
void write_gradient(const DividedLoss& call, int64_t r, const WholeRow& whole) {
  const Floats d;
  const float* const z = host<float>(call.logits).row(r);
  T* const d_z = host<T>(call.d_logits).row(r);  // may be the memory of the logits
  const int32_t target = host<int32_t>(call.targets).data[r];
  const SoftCapping cap(call.cap > 0.0 ? static_cast<float>(call.cap) : 1.0F);
  const float spread = static_cast<float>(call.smoothing) / static_cast<float>(call.vocabulary);
  const Vec scale = hn::Set(d, 1.0F / whole.total), shift = hn::Set(d, whole.maximum), log2_e = hn::Set(d, kLog2E);
  const auto gradient = [&](Vec x, Vec q) HWY_ATTR {
    const Vec p_less_q = hn::MulSub(exp2_of(hn::Mul(hn::Sub(x, shift), log2_e)), scale, q);
    return call.cap > 0.0 ? hn::Mul(p_less_q, cap.slope_at(x)) : p_less_q;
  };
  const Vec others = hn::Set(d, spread), at_target = hn::Set(d, spread + 1.0F - static_cast<float>(call.smoothing));
  const Vec of_target = gradient(hn::Set(d, target >= 0 ? z[target] : 0.0F), at_target);
  each_vector(call.logits.columns(), [&](int64_t c, int64_t left) HWY_ATTR {
    store_upto(gradient(load_upto(z + c, left), others), d_z + c, left);
  });
  if (target >= 0) {
    store_upto(of_target, d_z + target, 1);
  }
}

void finish_divided_row(const DividedLoss& call, int64_t r) {
  const WholeRow whole = whole_row(call, r);
  const auto smoothing = static_cast<float>(call.smoothing);
  const float log_sum_exp = whole.maximum + std::log(whole.total);
  float* const losses = host<float>(call.losses).row(r);
  losses[0] = log_sum_exp - (1.0F - smoothing) * whole.at_target -
              smoothing * (whole.sum / static_cast<float>(call.vocabulary));
  losses[1] = log_sum_exp - whole.at_target;
  if (!call.d_logits.empty()) {
    call.d_logits.type() == DType::bf16 ? write_gradient<bf16>(call, r, whole) : write_gradient<float>(call, r, whole);
  }
}

}  // namespace

void run_logit_sums(const LogitSums& call, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    sum_logits_of_row(call, r);
  }
}

void run_divided_loss(const DividedLoss& call, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    finish_divided_row(call, r);
  }
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_logit_sums);
HWY_EXPORT(run_divided_loss);

void logit_sums(Context& context, const LogitSums& call) {
  const RowTasks tasks(call.logits.rows(), 4 * call.logits.columns(), context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    HWY_DYNAMIC_DISPATCH(run_logit_sums)(call, tasks.begin(task), tasks.end(task));
  });
}

void divided_loss(Context& context, const DividedLoss& call) {
  const RowTasks tasks(call.logits.rows(), 4 * call.logits.columns(), context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    HWY_DYNAMIC_DISPATCH(run_divided_loss)(call, tasks.begin(task), tasks.end(task));
  });
}

}  // namespace heed::cpu
#endif
