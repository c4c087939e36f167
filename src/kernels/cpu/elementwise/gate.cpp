#include "kernels/cpu/elementwise/gate.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/gate.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/elementwise/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

template <class T, Activation kind>
void gate_row(const GateForward& call, int64_t r) {
  const int64_t inner = call.y.columns();
  const T* const gated = host<T>(call.x).row(r);
  const T* const linear = gated + inner;
  T* const y = host<T>(call.y).row(r);
  DropoutRow drop(call.dropout, r);
  each_vector(inner, [&](int64_t c, int64_t left) HWY_ATTR {
    const Vec x = hn::Mul(activate<kind>(load_upto(gated + c, left)), load_upto(linear + c, left));
    store_upto(drop.apply(x, c), y + c, left);
  });
}

template <class T, Activation kind>
void gate_backward_row(const GateBackward& call, int64_t r) {
  const int64_t inner = call.d_y.columns();
  const T* const gated = host<T>(call.x).row(r);
  const T* const linear = gated + inner;
  const T* const d_y = host<T>(call.d_y).row(r);
  T* const d_gated = host<T>(call.d_x).row(r);
  T* const d_linear = d_gated + inner;
  DropoutRow drop(call.dropout, r);
  each_vector(inner, [&](int64_t c, int64_t left) HWY_ATTR {
    const Vec d = drop.apply(load_upto(d_y + c, left), c);
    const Vec a = load_upto(gated + c, left);
    const Vec b = load_upto(linear + c, left);
    store_upto(hn::Mul(hn::Mul(d, b), slope<kind>(a)), d_gated + c, left);
    store_upto(hn::Mul(d, activate<kind>(a)), d_linear + c, left);
  });
}

}  // namespace

void run_gate(const GateForward& call, int64_t begin, int64_t end) {
  with_activation(call.activation, [&]<Activation kind>() {
    for (int64_t r = begin; r < end; ++r) {
      call.y.type() == DType::bf16 ? gate_row<bf16, kind>(call, r) : gate_row<float, kind>(call, r);
    }
  });
}

void run_gate_backward(const GateBackward& call, int64_t begin, int64_t end) {
  with_activation(call.activation, [&]<Activation kind>() {
    for (int64_t r = begin; r < end; ++r) {
      call.d_y.type() == DType::bf16 ? gate_backward_row<bf16, kind>(call, r) : gate_backward_row<float, kind>(call, r);
    }
  });
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_gate);
HWY_EXPORT(run_gate_backward);

void gate(Context& context, const GateForward& call) {
  const RowTasks tasks(call.y.rows(), 2 * call.y.columns(), context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    HWY_DYNAMIC_DISPATCH(run_gate)(call, tasks.begin(task), tasks.end(task));
  });
}

void gate_backward(Context& context, const GateBackward& call) {
  const RowTasks tasks(call.d_y.rows(), 4 * call.d_y.columns(), context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    HWY_DYNAMIC_DISPATCH(run_gate_backward)(call, tasks.begin(task), tasks.end(task));
  });
}

}  // namespace heed::cpu
#endif
