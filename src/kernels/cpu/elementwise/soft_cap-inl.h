// cap * tanh(x / cap) and its slope, lane by lane, in f32.

#if defined(HEED_KERNELS_CPU_SOFT_CAP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_SOFT_CAP_INL_H_
#undef HEED_KERNELS_CPU_SOFT_CAP_INL_H_
#else
#define HEED_KERNELS_CPU_SOFT_CAP_INL_H_
#endif

#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

class SoftCapping {
 public:
  explicit SoftCapping(float cap) : cap_(hn::Set(Floats(), cap)), inverse_(hn::Set(Floats(), 1.0F / cap)) {}

  // NaN stays NaN, which hn::Tanh does not promise: a run that diverges must be noticed.
  HWY_INLINE Vec of(Vec x) const {
    return hn::IfThenElse(hn::IsNaN(x), x, hn::Mul(cap_, hn::Tanh(Floats(), hn::Mul(x, inverse_))));
  }
  // At the x whose capped value is y: 1 - (y / cap)^2.
  HWY_INLINE Vec slope_at(Vec y) const {
    const Vec t = hn::Mul(y, inverse_);
    return hn::NegMulAdd(t, t, hn::Set(Floats(), 1.0F));
  }

 private:
  Vec cap_, inverse_;
};

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_SOFT_CAP_INL_H_
