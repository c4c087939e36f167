// Activations and their derivatives, lane by lane, in f32.

#if defined(HEED_KERNELS_CPU_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ACTIVATION_INL_H_
#undef HEED_KERNELS_CPU_ACTIVATION_INL_H_
#else
#define HEED_KERNELS_CPU_ACTIVATION_INL_H_
#endif

#include "kernels/calls/activation.h"
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

HWY_INLINE Vec constant(float x) { return hn::Set(Floats(), x); }

// 1 / (1 + e^-x), and exactly 0 where e^-x is no longer finite, so that a huge x times it is not NaN.
HWY_INLINE Vec sigmoid(Vec x) {
  const Vec lowest = constant(-87.0F);
  const Vec e = hn::Exp(Floats(), hn::Neg(hn::Max(x, lowest)));
  return hn::IfThenElseZero(hn::Ge(x, lowest), hn::Div(constant(1.0F), hn::Add(constant(1.0F), e)));
}

// erf as x P(x^2) / Q(x^2) on [-4, 4], outside of which it is +-1 in f32; error below 3e-7.
HWY_INLINE Vec error_function(Vec x) {
  const Vec t = hn::Clamp(x, constant(-4.0F), constant(4.0F));
  const Vec s = hn::Mul(t, t);
  Vec p = constant(-2.72614225801306e-10F);
  for (const float c : {2.77068142495902e-08F, -2.10102402082508e-06F, -5.69250639462346e-05F, -7.34990630326855e-04F,
                        -2.95459980854025e-03F, -1.60960333262415e-02F}) {
    p = hn::MulAdd(p, s, constant(c));
  }
  Vec q = constant(-1.45660718464996e-05F);
  for (const float c :
       {-2.13374055278905e-04F, -1.68282697438203e-03F, -7.37332916720468e-03F, -1.42647390514189e-02F}) {
    q = hn::MulAdd(q, s, constant(c));
  }
  return hn::Div(hn::Mul(t, p), q);
}

// Phi(x), the normal distribution function.
HWY_INLINE Vec normal_cdf(Vec x) {
  return hn::MulAdd(constant(0.5F), error_function(hn::Mul(x, constant(0.70710678F))), constant(0.5F));
}

// sqrt(2 / pi) (x + 0.044715 x^3), whose sigmoid at twice the value is the tanh form's factor (1 + tanh) / 2.
HWY_INLINE Vec tanh_argument(Vec x) {
  const Vec cubed = hn::Mul(hn::Mul(x, x), x);
  return hn::Mul(constant(0.79788456F), hn::MulAdd(constant(0.044715F), cubed, x));
}

template <Activation kind>
HWY_INLINE Vec activate(Vec x) {
  if constexpr (kind == Activation::relu) {
    return hn::Max(x, constant(0.0F));
  } else if constexpr (kind == Activation::relu_squared) {
    const Vec positive = hn::Max(x, constant(0.0F));
    return hn::Mul(positive, positive);
  } else if constexpr (kind == Activation::gelu) {
    return hn::Mul(x, normal_cdf(x));
  } else if constexpr (kind == Activation::gelu_tanh) {
    return hn::Mul(x, sigmoid(hn::Mul(constant(2.0F), tanh_argument(x))));
  } else if constexpr (kind == Activation::silu) {
    return hn::Mul(x, sigmoid(x));
  } else if constexpr (kind == Activation::tanh) {
    return hn::Tanh(Floats(), x);
  } else {
    return x;
  }
}

// d activate(x) / dx.
template <Activation kind>
HWY_INLINE Vec slope(Vec x) {
  if constexpr (kind == Activation::relu) {
    return hn::IfThenElseZero(hn::Gt(x, constant(0.0F)), constant(1.0F));
  } else if constexpr (kind == Activation::relu_squared) {
    const Vec positive = hn::Max(x, constant(0.0F));
    return hn::Add(positive, positive);
  } else if constexpr (kind == Activation::gelu) {
    // Phi(x) + x phi(x)
    const Vec density = hn::Mul(constant(0.39894228F), hn::Exp(Floats(), hn::Mul(constant(-0.5F), hn::Mul(x, x))));
    return hn::MulAdd(x, density, normal_cdf(x));
  } else if constexpr (kind == Activation::gelu_tanh) {
    // s + 2 x s (1 - s) u', with s = sigmoid(2u); 0 or 1 in f32 beyond 10
    const Vec t = hn::Clamp(x, constant(-10.0F), constant(10.0F));
    const Vec s = sigmoid(hn::Mul(constant(2.0F), tanh_argument(t)));
    const Vec d_argument =
        hn::Mul(constant(0.79788456F), hn::MulAdd(constant(3.0F * 0.044715F), hn::Mul(t, t), constant(1.0F)));
    const Vec d_s = hn::Mul(hn::Mul(s, hn::Sub(constant(1.0F), s)), hn::Add(d_argument, d_argument));
    return hn::MulAdd(t, d_s, s);
  } else if constexpr (kind == Activation::silu) {
    // s + x s (1 - s)
    const Vec s = sigmoid(x);
    return hn::MulAdd(hn::Mul(x, s), hn::Sub(constant(1.0F), s), s);
  } else if constexpr (kind == Activation::tanh) {
    const Vec t = hn::Tanh(Floats(), x);
    return hn::NegMulAdd(t, t, constant(1.0F));
  } else {
    return constant(1.0F);
  }
}

// Calls body.template operator()<kind>() with the activation as a constant.
template <class Body>
HWY_INLINE void with_activation(Activation kind, Body&& body) {
  switch (kind) {
    case Activation::none:
      return body.template operator()<Activation::none>();
    case Activation::relu:
      return body.template operator()<Activation::relu>();
    case Activation::relu_squared:
      return body.template operator()<Activation::relu_squared>();
    case Activation::gelu:
      return body.template operator()<Activation::gelu>();
    case Activation::gelu_tanh:
      return body.template operator()<Activation::gelu_tanh>();
    case Activation::silu:
      return body.template operator()<Activation::silu>();
    case Activation::tanh:
      return body.template operator()<Activation::tanh>();
  }
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_ACTIVATION_INL_H_
