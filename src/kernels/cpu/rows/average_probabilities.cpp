#include "kernels/cpu/rows/average_probabilities.h"

#include <cmath>
#include <limits>
#include <vector>

#ifndef HEED_KERNELS_CPU_AVERAGE_PROBABILITIES_ONCE
#define HEED_KERNELS_CPU_AVERAGE_PROBABILITIES_ONCE
namespace heed::cpu {

// The models' rows, and where their mean goes.
struct ProbabilityRows {
  std::vector<const float*> models;
  float* mean;
  int64_t columns;
};

}  // namespace heed::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/average_probabilities.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

// log((sum of e^x) / K) = m + log(sum of e^(x - m)) - log K    m: the largest x
void run_average_row(const ProbabilityRows& rows) {
  const Floats d;
  const Vec nothing = hn::Set(d, -std::numeric_limits<float>::infinity()), log2_e = hn::Set(d, kLog2E),
            log_models = hn::Set(d, std::log(static_cast<float>(rows.models.size())));
  each_vector(rows.columns, [&](int64_t c, int64_t left) HWY_ATTR {
    // The plain sum is NaN where a model is, which neither Max nor Log promises to keep.
    Vec largest = nothing, plain_sum = hn::Zero(d), sum = hn::Zero(d);
    for (const float* const model : rows.models) {
      const Vec x = load_upto(model + c, left);
      largest = hn::Max(largest, x);
      plain_sum = hn::Add(plain_sum, x);
    }
    for (const float* const model : rows.models) {
      sum = hn::Add(sum, exp2_of(hn::Mul(hn::Sub(load_upto(model + c, left), largest), log2_e)));
    }
    const Vec log_mean = hn::Add(largest, hn::Sub(hn::Log(d, sum), log_models));
    const Vec kept = hn::IfThenElse(hn::Eq(largest, nothing), nothing, log_mean);
    store_upto(hn::IfThenElse(hn::IsNaN(plain_sum), plain_sum, kept), rows.mean + c, left);
  });
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_average_row);

void average_probabilities(Context& context, const AverageProbabilities& call) {
  const int64_t columns = call.mean.columns(), models = std::ssize(call.log_probs);
  const RowTasks tasks(call.mean.rows(), 4 * models * columns, context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    ProbabilityRows rows{std::vector<const float*>(call.log_probs.size()), nullptr, columns};
    for (int64_t r = tasks.begin(task); r < tasks.end(task); ++r) {
      for (size_t k = 0; k < rows.models.size(); ++k) {
        rows.models[k] = host<float>(call.log_probs[k]).row(r);
      }
      rows.mean = host<float>(call.mean).row(r);
      HWY_DYNAMIC_DISPATCH(run_average_row)(rows);
    }
  });
}

}  // namespace heed::cpu
#endif
