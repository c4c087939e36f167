#include "kernels/cpu/average_probabilities.h"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/average_probabilities.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

// log((sum of e^x) / K) = m + log(sum of e^(x - m)) - log K    m: the largest x
void average_row(const AverageProbabilities& call, int64_t r) {
  const Floats d;
  const Vec nothing = hn::Set(d, -std::numeric_limits<float>::infinity()), log2_e = hn::Set(d, kLog2E),
            log_models = hn::Set(d, std::log(static_cast<float>(call.log_probs.size())));
  float* const mean = host<float>(call.mean).row(r);
  each_vector(call.mean.columns(), [&](int64_t c, int64_t left) HWY_ATTR {
    const auto of_model = [&](const View& model) HWY_ATTR { return load_upto(host<float>(model).row(r) + c, left); };
    Vec largest = nothing, sum = hn::Zero(d);
    for (const View& model : call.log_probs) {
      largest = hn::Max(largest, of_model(model));
    }
    for (const View& model : call.log_probs) {
      sum = hn::Add(sum, exp2_of(hn::Mul(hn::Sub(of_model(model), largest), log2_e)));
    }
    const Vec log_mean = hn::Add(largest, hn::Sub(hn::Log(d, sum), log_models));
    store_upto(hn::IfThenElse(hn::Eq(largest, nothing), nothing, log_mean), mean + c, left);
  });
}

}  // namespace

void run_average_probabilities(const AverageProbabilities& call, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    average_row(call, r);
  }
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_average_probabilities);

void average_probabilities(Context& context, const AverageProbabilities& call) {
  const int64_t work_of_row = 4 * std::ssize(call.log_probs) * call.mean.columns();
  const RowTasks tasks(call.mean.rows(), work_of_row, context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    HWY_DYNAMIC_DISPATCH(run_average_probabilities)(call, tasks.begin(task), tasks.end(task));
  });
}

}  // namespace heed::cpu
#endif
