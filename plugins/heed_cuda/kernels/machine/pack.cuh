// Packs: as many neighbouring elements of a row as one thread takes at a time. They move 16 bytes at a time where their
// address allows it.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "heed_cuda/device/language.h"

namespace heed::cuda {

// How many elements of the storage type 16 bytes hold. Where both f32 and bf16 take part, packs are those of bf16.
template <class T>
constexpr int kPack = 16 / static_cast<int>(sizeof(T));

struct Sixteen {
  uint32_t words[4];
};

__device__ inline Sixteen load_sixteen(const void* from) {
#ifdef __CUDA_ARCH__
  const uint4 words = *static_cast<const uint4*>(from);
  return {{words.x, words.y, words.z, words.w}};
#else
  Sixteen result;
  std::memcpy(&result, from, sizeof(result));
  return result;
#endif
}

__device__ inline void store_sixteen(const Sixteen& value, void* to) {
#ifdef __CUDA_ARCH__
  *static_cast<uint4*>(to) = make_uint4(value.words[0], value.words[1], value.words[2], value.words[3]);
#else
  std::memcpy(to, &value, sizeof(value));
#endif
}

// Two words at a multiple of 8 bytes.
__device__ inline void store_eight(uint32_t first, uint32_t second, void* to) {
#ifdef __CUDA_ARCH__
  *static_cast<uint2*>(to) = make_uint2(first, second);
#else
  const uint32_t words[2] = {first, second};
  std::memcpy(to, words, sizeof(words));
#endif
}

// Two bf16 in a word, the first in its lower half.
__device__ inline uint32_t bf16_pair(float low, float high) {
#ifdef __CUDA_ARCH__
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return static_cast<uint32_t>(bf16(low).bits) | static_cast<uint32_t>(bf16(high).bits) << 16;
#endif
}

// x = the first `left` of kWidth elements; the others become 0 and are not read. With `aligned`, `from` is a multiple
// of 16 bytes.
template <int kWidth, class T>
__device__ inline void load_pack(const T* from, int64_t left, bool aligned, float (&x)[kWidth]) {
  if (aligned && left >= kWidth) {
    HEED_UNROLL
    for (int part = 0; part < kWidth / kPack<T>; ++part) {
      const Sixteen words = load_sixteen(from + part * kPack<T>);
      HEED_UNROLL
      for (int w = 0; w < 4; ++w) {
        if constexpr (sizeof(T) == 4) {
          x[part * 4 + w] = std::bit_cast<float>(words.words[w]);
        } else {
          x[part * 8 + 2 * w] = std::bit_cast<float>(words.words[w] << 16);
          x[part * 8 + 2 * w + 1] = std::bit_cast<float>(words.words[w] & 0xffff0000U);
        }
      }
    }
    return;
  }
  HEED_UNROLL
  for (int j = 0; j < kWidth; ++j) {
    x[j] = j < left ? to_float(from[j]) : 0.0F;
  }
}

// Rounds, and writes the first `left` elements.
template <int kWidth, class T>
__device__ inline void store_pack(const float (&x)[kWidth], T* to, int64_t left, bool aligned) {
  if (aligned && left >= kWidth) {
    HEED_UNROLL
    for (int part = 0; part < kWidth / kPack<T>; ++part) {
      Sixteen words;
      HEED_UNROLL
      for (int w = 0; w < 4; ++w) {
        if constexpr (sizeof(T) == 4) {
          words.words[w] = std::bit_cast<uint32_t>(x[part * 4 + w]);
        } else {
          words.words[w] = bf16_pair(x[part * 8 + 2 * w], x[part * 8 + 2 * w + 1]);
        }
      }
      store_sixteen(words, to + part * kPack<T>);
    }
    return;
  }
  HEED_UNROLL
  for (int j = 0; j < kWidth; ++j) {
    if (j < left) {
      to[j] = from_float<T>(x[j]);
    }
  }
}

// What a value is after it was stored.
template <class T>
__device__ inline float rounded(float x) {
  return to_float(from_float<T>(x));
}

// Whether packs of these matrices begin at multiples of 16 bytes; a missing one does.
template <class T>
bool aligned_packs(const Matrix<T>& x) {
  const bool rows = x.rows <= 1 || x.stride * static_cast<int64_t>(sizeof(T)) % 16 == 0;
  return x.data == nullptr || (rows && reinterpret_cast<uintptr_t>(x.data) % 16 == 0);
}
template <class... Ts>
bool all_aligned(const Matrix<Ts>&... x) {
  return (aligned_packs(x) && ...);
}

}  // namespace heed::cuda
