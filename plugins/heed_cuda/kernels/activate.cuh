// Activations of one value.
#pragma once

#include "heed_cuda/device/language.h"
#include "kernels/calls/activation.h"

namespace heed::cuda {

__device__ inline float activate(Activation activation, float x) {
  constexpr float kRootHalf = 0.70710678118654752F, kRootTwoOverPi = 0.79788456080286536F, kCubic = 0.044715F;
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x > 0.0F ? x : 0.0F;
    case Activation::gelu:
      return x * (0.5F * erfcf(-x * kRootHalf));
    case Activation::gelu_tanh:
      return x / (1.0F + expf(-2.0F * kRootTwoOverPi * (x + kCubic * x * x * x)));  // (1 + tanh(u)) / 2 is a sigmoid
    case Activation::silu:
      return x / (1.0F + expf(-x));
    case Activation::tanh:
      return tanhf(x);
  }
  return x;
}

}  // namespace heed::cuda
