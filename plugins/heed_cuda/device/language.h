// What kernels are written in: CUDA, which nvcc compiles for a GPU, and which any other compiler takes with the words
// of emulation.h, for a CPU. Both give the same results where a kernel keeps to these rules:
//   - blocks have a multiple of 32 threads, and all threads of a warp take part in its collectives;
//   - all threads of a block reach each __syncthreads();
//   - shared memory is dynamic, asked for at the launch (HEED_SHARED);
//   - loops over what is kept in registers are unrolled (HEED_UNROLL);
//   - no atomics on floating point, and sums in an order that depends on sizes alone.
#pragma once

#include <bit>
#include <cstdint>

#ifdef __CUDACC__
#include <cuda_runtime.h>
#define HEED_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#define HEED_UNROLL _Pragma("unroll")
#else
#include "heed_cuda/device/emulation.h"
#define HEED_SHARED(name) unsigned char* const name = ::heed::cuda::emulation::shared_memory()
#define HEED_UNROLL
#endif

#include "tensor/dtype.h"

namespace heed::cuda {

constexpr int kWarp = 32;
constexpr unsigned kWholeWarp = 0xffffffffU;

// A matrix in the device's memory, as kernels see it.
template <class T>
struct Matrix {
  T* data = nullptr;
  int64_t rows = 0, columns = 0, stride = 0;

  __host__ __device__ bool empty() const { return data == nullptr; }
  __device__ T* row(int64_t r) const { return data + r * stride; }
  __device__ T& operator()(int64_t r, int64_t c) const { return data[r * stride + c]; }
};

// The arithmetic of all kernels is in f32, of f64 only what is asked for.
__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(bf16 x) { return static_cast<float>(x); }
__device__ inline float to_float(double x) { return static_cast<float>(x); }
__device__ inline float to_float(int8_t x) { return static_cast<float>(x); }
__device__ inline float to_float(int32_t x) { return static_cast<float>(x); }

template <class T>
__device__ inline T from_float(float x) {
  return static_cast<T>(x);
}

// The index of this thread in a grid of one dimension, and how many there are: for loops that take every n-th element.
__device__ inline int64_t thread_of_grid() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline int64_t threads_of_grid() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

// The number of the lowest bit that is set, of which there is one.
__device__ inline int lowest_bit(unsigned bits) {
#ifdef __CUDA_ARCH__
  return __ffs(static_cast<int>(bits)) - 1;
#else
  return std::countr_zero(bits);
#endif
}

// The sum, or the largest, of a warp's values, in every lane: a tree whose order is the same in all of them.
__device__ inline float warp_sum(float x) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    x += __shfl_xor_sync(kWholeWarp, x, distance);
  }
  return x;
}
__device__ inline double warp_sum(double x) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    x += __shfl_xor_sync(kWholeWarp, x, distance);
  }
  return x;
}
__device__ inline float warp_max(float x) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    x = fmaxf(x, __shfl_xor_sync(kWholeWarp, x, distance));
  }
  return x;
}

}  // namespace heed::cuda
