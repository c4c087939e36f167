#include "kernels/cpu/elementwise/soft_cap.h"

#include "kernels/cpu/elementwise/sweep.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/soft_cap.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/elementwise/soft_cap-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void soft_cap_row(const SoftCap& call, int64_t r) {
  T* const x = host<T>(call.x).row(r);
  const SoftCapping cap(static_cast<float>(call.cap));
  each_vector(call.x.columns(),
              [&](int64_t c, int64_t left) HWY_ATTR { store_upto(cap.of(load_upto(x + c, left)), x + c, left); });
}

template <class T>
void soft_cap_backward_row(const SoftCapBackward& call, int64_t r) {
  const T* const y = host<T>(call.y).row(r);
  T* const d_y = host<T>(call.d_y).row(r);
  const SoftCapping cap(static_cast<float>(call.cap));
  each_vector(call.y.columns(), [&](int64_t c, int64_t left) HWY_ATTR {
    store_upto(hn::Mul(load_upto(d_y + c, left), cap.slope_at(load_upto(y + c, left))), d_y + c, left);
  });
}

}  // namespace

void run_soft_cap(const SoftCap& call, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    call.x.type() == DType::bf16 ? soft_cap_row<bf16>(call, r) : soft_cap_row<float>(call, r);
  }
}

void run_soft_cap_backward(const SoftCapBackward& call, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    call.d_y.type() == DType::bf16 ? soft_cap_backward_row<bf16>(call, r) : soft_cap_backward_row<float>(call, r);
  }
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_soft_cap);
HWY_EXPORT(run_soft_cap_backward);

void soft_cap(Context& context, const SoftCap& call) {
  each_share(context, call.x, 4, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(run_soft_cap)(call, begin, end);
  });
}

void soft_cap_backward(Context& context, const SoftCapBackward& call) {
  each_share(context, call.d_y, 2, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(run_soft_cap_backward)(call, begin, end);
  });
}

}  // namespace heed::cpu
#endif
