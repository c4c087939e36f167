// The activations and their slopes, in f32.
#pragma once

#include <cmath>

#include "heed_cuda/device/language.h"
#include "kernels/calls/activation.h"

namespace heed::cuda {

__device__ inline float sigmoid(float x) { return 1.0F / (1.0F + expf(-x)); }

// gelu_tanh's tanh, of sqrt(2 / pi) (x + 0.044715 x^3).
__device__ inline float gelu_tanh_of(float x) { return tanhf(0.7978845608F * (x + 0.044715F * x * x * x)); }

//   relu: max(x, 0)              gelu: x Phi(x), Phi the normal distribution
//   silu: x sigmoid(x)           gelu_tanh: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
//   relu_squared: max(x, 0)^2
template <Activation kActivation>
__device__ inline float activate(float x) {
  if constexpr (kActivation == Activation::relu) {
    return x > 0.0F ? x : 0.0F;
  } else if constexpr (kActivation == Activation::relu_squared) {
    return x > 0.0F ? x * x : 0.0F;
  } else if constexpr (kActivation == Activation::gelu) {
    return 0.5F * x * erfcf(-0.7071067812F * x);
  } else if constexpr (kActivation == Activation::gelu_tanh) {
    return 0.5F * x * (1.0F + gelu_tanh_of(x));
  } else if constexpr (kActivation == Activation::silu) {
    return x * sigmoid(x);
  } else if constexpr (kActivation == Activation::tanh) {
    return tanhf(x);
  } else {
    return x;
  }
}

// d activate(x) / dx; at relu's corner, 0.
template <Activation kActivation>
__device__ inline float activation_slope(float x) {
  if constexpr (kActivation == Activation::relu) {
    return x > 0.0F ? 1.0F : 0.0F;
  } else if constexpr (kActivation == Activation::relu_squared) {
    return x > 0.0F ? 2.0F * x : 0.0F;
  } else if constexpr (kActivation == Activation::gelu) {
    return 0.5F * erfcf(-0.7071067812F * x) + x * 0.3989422804F * expf(-0.5F * x * x);
  } else if constexpr (kActivation == Activation::gelu_tanh) {
    const float t = gelu_tanh_of(x);
    return 0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * 0.7978845608F * (1.0F + 3.0F * 0.044715F * x * x);
  } else if constexpr (kActivation == Activation::silu) {
    const float s = sigmoid(x);
    return s + x * s * (1.0F - s);
  } else if constexpr (kActivation == Activation::tanh) {
    const float t = tanhf(x);
    return 1.0F - t * t;
  } else {
    return 1.0F;
  }
}

template <Activation kActivation>
struct ActivationTag {
  static constexpr Activation value = kActivation;
};

// Calls body with the activation as a type: body(ActivationTag<Activation::relu>{}).
template <class Body>
void for_activation(Activation activation, Body&& body) {
  switch (activation) {
    case Activation::none:
      return body(ActivationTag<Activation::none>{});
    case Activation::relu:
      return body(ActivationTag<Activation::relu>{});
    case Activation::relu_squared:
      return body(ActivationTag<Activation::relu_squared>{});
    case Activation::gelu:
      return body(ActivationTag<Activation::gelu>{});
    case Activation::gelu_tanh:
      return body(ActivationTag<Activation::gelu_tanh>{});
    case Activation::silu:
      return body(ActivationTag<Activation::silu>{});
    case Activation::tanh:
      return body(ActivationTag<Activation::tanh>{});
  }
}

}  // namespace heed::cuda
