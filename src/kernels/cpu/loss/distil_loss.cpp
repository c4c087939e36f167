#include "kernels/cpu/loss/distil_loss.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/loss/distil_loss.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/elementwise/soft_cap-inl.h"
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

// What is summed over a row: e^(z - largest z), of the student as it is and at the temperature, of the teacher at the
// temperature; the teacher's times the difference of the two exponents; and the student's logits.
struct RowsOfTwo {
  float largest = 0.0F, largest_taught = 0.0F;
  float plain = 0.0F, student = 0.0F, teacher = 0.0F, difference = 0.0F, sum = 0.0F;
};

struct TwoRows {
  const float *z, *t;
  int64_t columns;
  float coldness;  // 1 / T
};

float largest_of(const float* values, int64_t columns) {
  const Floats d;
  Vec highest = hn::Set(d, values[0]);
  each_vector(columns, [&](int64_t c, int64_t left) HWY_ATTR {
    const auto there = hn::FirstN(d, static_cast<size_t>(std::min(left, lanes())));
    highest = hn::IfThenElse(there, hn::Max(highest, load_upto(values + c, left)), highest);
  });
  return hn::GetLane(hn::MaxOfLanes(d, highest));
}

RowsOfTwo sums_of_two(const TwoRows& rows) {
  const Floats d;
  RowsOfTwo sums{.largest = largest_of(rows.z, rows.columns), .largest_taught = largest_of(rows.t, rows.columns)};
  const Vec of_z = hn::Set(d, sums.largest), of_t = hn::Set(d, sums.largest_taught);
  const Vec log2_e = hn::Set(d, kLog2E), coldness = hn::Set(d, rows.coldness);
  Vec plain = hn::Zero(d), student = hn::Zero(d), teacher = hn::Zero(d), difference = hn::Zero(d), sum = hn::Zero(d);
  each_vector(rows.columns, [&](int64_t c, int64_t left) HWY_ATTR {
    const auto there = hn::FirstN(d, static_cast<size_t>(std::min(left, lanes())));
    const Vec z = load_upto(rows.z + c, left);
    const Vec a = hn::Sub(z, of_z), b = hn::Mul(a, coldness);
    const Vec e = hn::Mul(hn::Sub(load_upto(rows.t + c, left), of_t), coldness);
    const Vec p = hn::IfThenElseZero(there, exp2_of(hn::Mul(e, log2_e)));
    plain = hn::Add(plain, hn::IfThenElseZero(there, exp2_of(hn::Mul(a, log2_e))));
    student = hn::Add(student, hn::IfThenElseZero(there, exp2_of(hn::Mul(b, log2_e))));
    teacher = hn::Add(teacher, p);
    difference = hn::Add(difference, hn::IfThenElseZero(there, hn::Mul(p, hn::Sub(e, b))));
    sum = hn::Add(sum, hn::IfThenElseZero(there, z));
  });
  sums.plain = hn::GetLane(hn::SumOfLanes(d, plain));
  sums.student = hn::GetLane(hn::SumOfLanes(d, student));
  sums.teacher = hn::GetLane(hn::SumOfLanes(d, teacher));
  sums.difference = hn::GetLane(hn::SumOfLanes(d, difference));
  sums.sum = hn::GetLane(hn::SumOfLanes(d, sum));
  return sums;
}

template <class T>
void write_distil_gradient(const DistilLoss& call, int64_t r, const TwoRows& rows, const RowsOfTwo& sums) {
  const Floats d;
  T* const d_z = host<T>(call.d_logits).row(r);  // may be the memory of the logits
  const int32_t target = host<int32_t>(call.targets).data[r];
  const auto weight = static_cast<float>(call.weight), smoothing = static_cast<float>(call.smoothing);
  const SoftCapping cap(call.cap > 0.0 ? static_cast<float>(call.cap) : 1.0F);
  const float taught = weight * static_cast<float>(call.temperature), gold = 1.0F - weight;
  const float spread = smoothing / static_cast<float>(rows.columns);
  const Vec of_z = hn::Set(d, sums.largest), of_t = hn::Set(d, sums.largest_taught);
  const Vec log2_e = hn::Set(d, kLog2E), cold = hn::Set(d, kLog2E * rows.coldness);
  const Vec plain = hn::Set(d, gold / sums.plain), student = hn::Set(d, taught / sums.student),
            teacher = hn::Set(d, taught / sums.teacher);
  const auto gradient = [&](Vec z, Vec t, Vec g) HWY_ATTR {
    const Vec a = hn::Sub(z, of_z);
    const Vec of_gold = hn::MulSub(exp2_of(hn::Mul(a, log2_e)), plain, g);
    const Vec of_student = hn::MulAdd(exp2_of(hn::Mul(a, cold)), student, of_gold);
    const Vec all = hn::NegMulAdd(exp2_of(hn::Mul(hn::Sub(t, of_t), cold)), teacher, of_student);
    return call.cap > 0.0 ? hn::Mul(all, cap.slope_at(z)) : all;
  };
  const Vec others = hn::Set(d, gold * spread), at_target = hn::Set(d, gold * (spread + 1.0F - smoothing));
  const Vec of_target = gradient(hn::Set(d, rows.z[target]), hn::Set(d, rows.t[target]), at_target);
  each_vector(rows.columns, [&](int64_t c, int64_t left) HWY_ATTR {
    store_upto(gradient(load_upto(rows.z + c, left), load_upto(rows.t + c, left), others), d_z + c, left);
  });
  store_upto(of_target, d_z + target, 1);
}

void ignore_distil_row(const DistilLoss& call, int64_t r) {
  float* const losses = host<float>(call.losses).row(r);
  losses[0] = losses[1] = 0.0F;
  if (call.d_logits.empty()) {
    return;
  }
  if (call.d_logits.type() == DType::bf16) {
    std::fill_n(host<bf16>(call.d_logits).row(r), call.d_logits.columns(), bf16());
  } else {
    std::fill_n(host<float>(call.d_logits).row(r), call.d_logits.columns(), 0.0F);
  }
}

void distil_row(const DistilLoss& call, int64_t r) {
  const int32_t target = host<int32_t>(call.targets).data[r];
  if (target < 0) {
    return ignore_distil_row(call, r);
  }
  const auto temperature = static_cast<float>(call.temperature);
  const TwoRows rows{host<float>(call.logits).row(r), host<float>(call.teacher).row(r), call.logits.columns(),
                     1.0F / temperature};
  const RowsOfTwo sums = sums_of_two(rows);
  const auto weight = static_cast<float>(call.weight), smoothing = static_cast<float>(call.smoothing);
  const float divergence = sums.difference / sums.teacher - std::log(sums.teacher) + std::log(sums.student);
  const float log_sum_exp = sums.largest + std::log(sums.plain), at_target = rows.z[target];
  const float gold =
      log_sum_exp - (1.0F - smoothing) * at_target - smoothing * (sums.sum / static_cast<float>(rows.columns));
  float* const losses = host<float>(call.losses).row(r);
  losses[0] = weight * temperature * temperature * divergence + (1.0F - weight) * gold;
  losses[1] = log_sum_exp - at_target;
  if (!call.d_logits.empty()) {
    call.d_logits.type() == DType::bf16 ? write_distil_gradient<bf16>(call, r, rows, sums)
                                        : write_distil_gradient<float>(call, r, rows, sums);
  }
}

}  // namespace

void run_distil_loss(const DistilLoss& call, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    distil_row(call, r);
  }
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_distil_loss);

void distil_loss(Context& context, const DistilLoss& call) {
  const RowTasks tasks(call.logits.rows(), 8 * call.logits.columns(), context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    HWY_DYNAMIC_DISPATCH(run_distil_loss)(call, tasks.begin(task), tasks.end(task));
  });
}

}  // namespace heed::cpu
#endif
