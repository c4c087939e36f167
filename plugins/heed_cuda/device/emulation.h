// CUDA's words on a CPU, so that kernels run, and are tested, where there is no GPU. A launch runs the blocks of its
// grid one after another; the threads of a block are fibres of the calling thread, which change at barriers and at the
// collectives of warps. Between two barriers they run in an order that can be set: a kernel whose result depends on it
// has a race.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#define __global__
#define __host__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_extent = 1, unsigned y_extent = 1, unsigned z_extent = 1)  // NOLINT: as in CUDA
      : x(x_extent), y(y_extent), z(z_extent) {}
};

namespace heed::cuda::emulation {

// Where the running fibre is.
struct Place {
  dim3 thread, block, block_extent, grid_extent;
};
Place& place();

// The running block's: as many bytes as the launch asked for, 0xff (NaN) at first.
unsigned char* shared_memory();

void block_barrier();
void warp_barrier();

// The bytes that `lane` of this warp hands over when all of its lanes hand over `size` bytes at most kMostExchanged.
constexpr size_t kMostExchanged = 32;
void exchange(const void* own, void* of_lane, size_t size, int lane);

// Every lane's contribution to a collective of the warp: lane by lane, kMostExchanged bytes apart. Valid until the
// warp's next collective but one.
const unsigned char* gather(const void* own, size_t size);

// In which order the threads of a block run between barriers. Of this process; first to last at the beginning.
enum class Order : uint8_t { forward, backward, shuffled };
void set_order(Order order);

// Runs body() as every thread of the grid. A barrier that some threads of a block never reach ends the program with a
// message.
void run_grid(dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()>& body);

}  // namespace heed::cuda::emulation

#define threadIdx (::heed::cuda::emulation::place().thread)
#define blockIdx (::heed::cuda::emulation::place().block)
#define blockDim (::heed::cuda::emulation::place().block_extent)
#define gridDim (::heed::cuda::emulation::place().grid_extent)

inline void __syncthreads() { ::heed::cuda::emulation::block_barrier(); }
inline void __syncwarp(unsigned /*mask*/ = 0xffffffffU) { ::heed::cuda::emulation::warp_barrier(); }

inline int heed_lane() {
  const auto& at = ::heed::cuda::emulation::place();
  return static_cast<int>((at.thread.x + at.block_extent.x * (at.thread.y + at.block_extent.y * at.thread.z)) % 32);
}

template <class T>
T __shfl_sync(unsigned /*mask*/, T value, int lane, int width = 32) {
  T result;
  const int own = heed_lane();
  ::heed::cuda::emulation::exchange(&value, &result, sizeof(T), own / width * width + (lane & (width - 1)));
  return result;
}
template <class T>
T __shfl_xor_sync(unsigned /*mask*/, T value, int bits, int /*width*/ = 32) {
  T result;
  ::heed::cuda::emulation::exchange(&value, &result, sizeof(T), heed_lane() ^ bits);
  return result;
}
template <class T>
T __shfl_down_sync(unsigned /*mask*/, T value, unsigned distance, int width = 32) {
  T result;
  const int own = heed_lane(), from = own % width + static_cast<int>(distance);
  ::heed::cuda::emulation::exchange(&value, &result, sizeof(T), from < width ? own + static_cast<int>(distance) : own);
  return result;
}
template <class T>
T __shfl_up_sync(unsigned /*mask*/, T value, unsigned distance, int width = 32) {
  T result;
  const int own = heed_lane(), from = own % width - static_cast<int>(distance);
  ::heed::cuda::emulation::exchange(&value, &result, sizeof(T), from >= 0 ? own - static_cast<int>(distance) : own);
  return result;
}
inline unsigned __ballot_sync(unsigned /*mask*/, int predicate) {
  const int own = predicate != 0 ? 1 : 0;
  const unsigned char* const all = ::heed::cuda::emulation::gather(&own, sizeof(own));
  unsigned bits = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    int value = 0;
    std::memcpy(&value, all + lane * ::heed::cuda::emulation::kMostExchanged, sizeof(value));
    bits |= static_cast<unsigned>(value) << lane;
  }
  return bits;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0 ? 1 : 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == 0xffffffffU ? 1 : 0; }

// CUDA's functions of mathematics that are not the C library's.
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float rsqrtf(float x) { return 1.0F / std::sqrt(x); }
inline int __float2int_rn(float x) { return static_cast<int>(std::nearbyint(x)); }
inline int __dp4a(int a, int b, int sum) {
  for (int byte = 0; byte < 4; ++byte) {
    sum += static_cast<int>(static_cast<int8_t>(a >> (8 * byte))) * static_cast<int8_t>(b >> (8 * byte));
  }
  return sum;
}
using std::max;
using std::min;
