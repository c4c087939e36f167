#include "kernels/cpu/rows/sum_parts.h"

#include <algorithm>

#include "base/rounding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/sum_parts.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void sum_columns(const SumParts& call, int64_t r, int64_t first, int64_t count) {
  T* const y = host<T>(call.y).row(r);
  const float* const bias = call.bias.empty() ? nullptr : host<float>(call.bias).data;
  each_vector(count, [&](int64_t i, int64_t left) HWY_ATTR {
    const int64_t c = first + i;
    Vec sum = load_upto(host<T>(call.parts.front()).row(r) + c, left);
    for (const ConstView& part : call.parts.subspan(1)) {
      sum = hn::Add(sum, load_upto(host<T>(part).row(r) + c, left));
    }
    store_upto(bias == nullptr ? sum : hn::Add(sum, load_upto(bias + c, left)), y + c, left);
  });
}

}  // namespace

void run_sum_parts(const SumParts& call, int64_t row, int64_t first, int64_t count) {
  call.y.type() == DType::bf16 ? sum_columns<bf16>(call, row, first, count)
                               : sum_columns<float>(call, row, first, count);
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_sum_parts);

// A long row, such as a slice of the weights, is shared out among threads too.
void sum_parts(Context& context, const SumParts& call) {
  constexpr int64_t kColumns = 8192;
  const int64_t columns = call.y.columns(), ranges = ceil_div(columns, kColumns);
  const int64_t work = static_cast<int64_t>(call.parts.size()) * std::min(kColumns, columns);
  const RowTasks tasks(call.y.rows() * ranges, work, context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    for (int64_t i = tasks.begin(task); i < tasks.end(task); ++i) {
      const int64_t first = i % ranges * kColumns;
      HWY_DYNAMIC_DISPATCH(run_sum_parts)(call, i / ranges, first, std::min(kColumns, columns - first));
    }
  });
}

}  // namespace heed::cpu
#endif
