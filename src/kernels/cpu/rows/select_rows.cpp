#include "kernels/cpu/rows/select_rows.h"

#include <cstring>
#include <span>

#include "kernels/cpu/machine/row_groups.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/select_rows.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void sum_rows(const HostView<const T>& d_y, std::span<const int64_t> rows, Write write, T* d_x) {
  each_vector(d_y.columns, [&](int64_t c, int64_t left) HWY_ATTR {
    Vec sum = write == Write::add ? load_upto(d_x + c, left) : hn::Zero(Floats());
    for (const int64_t r : rows) {
      sum = hn::Add(sum, load_upto(d_y.row(r) + c, left));
    }
    store_upto(sum, d_x + c, left);
  });
}

}  // namespace

// Row `to` of d_x (+)= the given rows of d_y, summed in f32 and rounded once.
void run_sum_rows(const SelectRowsBackward& call, std::span<const int64_t> rows, int64_t to) {
  call.d_x.type() == DType::bf16 ? sum_rows(host<bf16>(call.d_y), rows, call.write, host<bf16>(call.d_x).row(to))
                                 : sum_rows(host<float>(call.d_y), rows, call.write, host<float>(call.d_x).row(to));
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_sum_rows);

void select_rows(Context& context, const SelectRows& call) {
  const RowTasks tasks(call.y.rows(), call.y.columns(), context.pool.threads());
  const int32_t* const rows = host<int32_t>(call.rows).data;
  const size_t bytes = static_cast<size_t>(call.y.columns() * size_of(call.y.type()));
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    for (int64_t r = tasks.begin(task); r < tasks.end(task); ++r) {
      std::memcpy(host_address(call.y.row_range(r, 1)), host_address(call.x.row_range(rows[r], 1)), bytes);
    }
  });
}

void select_rows_backward(Context& context, const SelectRowsBackward& call) {
  const RowGroups groups(call.rows, call.d_x.rows());
  const RowTasks tasks(call.d_x.rows(), call.d_x.columns(), context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    for (int64_t r = tasks.begin(task); r < tasks.end(task); ++r) {
      if (call.write == Write::overwrite || !groups.of(r).empty()) {
        HWY_DYNAMIC_DISPATCH(run_sum_rows)(call, groups.of(r), r);
      }
    }
  });
}

}  // namespace heed::cpu
#endif
