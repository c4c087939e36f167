#include "kernels/cpu/elementwise/drop.h"

#include "kernels/cpu/elementwise/sweep.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/drop.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

namespace {

template <class T>
void drop_row(const Drop& call, int64_t r) {
  T* const x = host<T>(call.x).row(r);
  DropoutRow drop(call.dropout, r);
  each_vector(call.x.columns(), [&](int64_t c, int64_t left)
                                    HWY_ATTR { store_upto(drop.apply(load_upto(x + c, left), c), x + c, left); });
}

}  // namespace

void run_drop(const Drop& call, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    call.x.type() == DType::bf16 ? drop_row<bf16>(call, r) : drop_row<float>(call, r);
  }
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_drop);

void drop(Context& context, const Drop& call) {
  each_share(context, call.x, 2, [&](int64_t begin, int64_t end) { HWY_DYNAMIC_DISPATCH(run_drop)(call, begin, end); });
}

}  // namespace heed::cpu
#endif
