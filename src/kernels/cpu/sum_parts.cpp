#include "kernels/cpu/sum_parts.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/sum_parts.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void sum_row(const SumParts& call, int64_t r) {
  T* const y = host<T>(call.y).row(r);
  const float* const bias = call.bias.empty() ? nullptr : host<float>(call.bias).data;
  each_vector(call.y.columns(), [&](int64_t c, int64_t left) HWY_ATTR {
    Vec sum = load_upto(host<T>(call.parts.front()).row(r) + c, left);
    for (const View& part : call.parts.subspan(1)) {
      sum = hn::Add(sum, load_upto(host<T>(part).row(r) + c, left));
    }
    store_upto(bias == nullptr ? sum : hn::Add(sum, load_upto(bias + c, left)), y + c, left);
  });
}

}  // namespace

void run_sum_parts(const SumParts& call, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    call.y.type() == DType::bf16 ? sum_row<bf16>(call, r) : sum_row<float>(call, r);
  }
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_sum_parts);

void sum_parts(Context& context, const SumParts& call) {
  const int64_t work = static_cast<int64_t>(call.parts.size()) * call.y.columns();
  const RowTasks tasks(call.y.rows(), work, context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    HWY_DYNAMIC_DISPATCH(run_sum_parts)(call, tasks.begin(task), tasks.end(task));
  });
}

}  // namespace heed::cpu
#endif
