// What happens to the elements of a product, two neighbours of a row at a time, when their sums are complete.
#pragma once

#include "heed_cuda/device/language.h"
#include "heed_cuda/kernels/elementwise/activation.cuh"
#include "kernels/calls/activation.h"

namespace heed::cuda {

struct alignas(8) FloatPair {
  float first, second;
};

// A matrix of f32 or bf16, to be written or read. `whole_pairs`: two neighbours from an even column on are aligned.
struct Elements {
  void* data = nullptr;
  int64_t stride = 0;
  DType type = DType::f32;
  bool whole_pairs = false;

  __host__ __device__ bool empty() const { return data == nullptr; }
  __device__ float get(int64_t r, int64_t c) const {
    return type == DType::bf16 ? to_float(static_cast<const bf16*>(data)[r * stride + c])
                               : static_cast<const float*>(data)[r * stride + c];
  }
  // The elements at c, which is even, and c + 1, of those that there are.
  __device__ void get_pair(int64_t r, int64_t c, int64_t columns, float (&pair)[2]) const {
    if (c + 1 < columns && whole_pairs) {
      if (type == DType::bf16) {
        const uint32_t both = *reinterpret_cast<const uint32_t*>(static_cast<const bf16*>(data) + r * stride + c);
        pair[0] = std::bit_cast<float>(both << 16);
        pair[1] = std::bit_cast<float>(both & 0xffff0000U);
      } else {
        const auto both = *reinterpret_cast<const FloatPair*>(static_cast<const float*>(data) + r * stride + c);
        pair[0] = both.first;
        pair[1] = both.second;
      }
      return;
    }
    pair[0] = c < columns ? get(r, c) : 0.0F;
    pair[1] = c + 1 < columns ? get(r, c + 1) : 0.0F;
  }
  __device__ void set(int64_t r, int64_t c, float value) const {
    if (type == DType::bf16) {
      static_cast<bf16*>(data)[r * stride + c] = bf16(value);
    } else {
      static_cast<float*>(data)[r * stride + c] = value;
    }
  }
  __device__ void set_pair(int64_t r, int64_t c, float first, float second) const {
    if (!whole_pairs) {
      set(r, c, first);
      set(r, c + 1, second);
    } else if (type == DType::bf16) {
      *reinterpret_cast<uint32_t*>(static_cast<bf16*>(data) + r * stride + c) =
          static_cast<uint32_t>(bf16(first).bits) | static_cast<uint32_t>(bf16(second).bits) << 16;
    } else {
      *reinterpret_cast<FloatPair*>(static_cast<float*>(data) + r * stride + c) = FloatPair{first, second};
    }
  }
};

__device__ inline float activate_as(Activation activation, float x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return activate<Activation::relu>(x);
    case Activation::relu_squared:
      return activate<Activation::relu_squared>(x);
    case Activation::gelu:
      return activate<Activation::gelu>(x);
    case Activation::gelu_tanh:
      return activate<Activation::gelu_tanh>(x);
    case Activation::silu:
      return activate<Activation::silu>(x);
    case Activation::tanh:
      return activate<Activation::tanh>(x);
  }
  return x;
}

// y = dropout(act(sum + b))
struct FinishForward {
  Elements y, before, bias;
  bool bias_of_rows = false;
  Activation activation = Activation::none;
  Dropout dropout;
  float dropout_scale = 1.0F;
  int64_t columns = 0;

  __device__ void operator()(int64_t r, int64_t c, float first, float second) const {
    if (!bias.empty()) {
      float pair[2];
      bias.get_pair(bias_of_rows ? r : 0, c, columns, pair);
      first += pair[0];
      second += pair[1];
    }
    if (!before.empty()) {
      store(before, r, c, first, second);
    }
    first = activate_as(activation, first);
    second = activate_as(activation, second);
    if (dropout.active()) {
      const RowRandom random = dropout.row(r);
      const uint32_t column = dropout.first_column + static_cast<uint32_t>(c);
      first *= random.draw16(column) < dropout.threshold ? 0.0F : dropout_scale;
      second *= random.draw16(column + 1) < dropout.threshold ? 0.0F : dropout_scale;
    }
    store(y, r, c, first, second);
  }

 private:
  __device__ void store(const Elements& to, int64_t r, int64_t c, float first, float second) const {
    if (c + 1 < columns) {
      to.set_pair(r, c, first, second);
    } else {
      to.set(r, c, first);
    }
  }
};

// d (+)= scale * sum
struct FinishGradient {
  Elements d;
  bool adds = false;
  float scale = 1.0F;
  int64_t columns = 0;

  __device__ void operator()(int64_t r, int64_t c, float first, float second) const {
    first *= scale;
    second *= scale;
    if (adds) {
      float pair[2];
      d.get_pair(r, c, columns, pair);
      first += pair[0];
      second += pair[1];
    }
    if (c + 1 < columns) {
      d.set_pair(r, c, first, second);
    } else {
      d.set(r, c, first);
    }
  }
};

}  // namespace heed::cuda
