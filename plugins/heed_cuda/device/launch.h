// Starts kernels.
#pragma once

#include <utility>

#include "base/errors.h"
#include "base/rounding.h"
#include "heed_cuda/device/language.h"
#include "heed_cuda/device/queue.h"

namespace heed::cuda {

struct Grid {
  dim3 blocks, threads;
  int64_t shared_bytes = 0;
};

constexpr int kThreads = 256;

// For loops that take every n-th element: blocks of kThreads, enough for each thread to have an element, up to a limit
// beyond which threads take several.
inline Grid grid_over(int64_t elements) {
  constexpr int64_t kMostBlocks = 4096;
  const int64_t blocks = std::min(kMostBlocks, std::max<int64_t>(1, ceil_div(elements, kThreads)));
  return {dim3(static_cast<unsigned>(blocks)), dim3(kThreads)};
}
// One warp, or one block, for each of `count`: loops must go on where the grid ends (kMostBlocks).
inline Grid grid_of_blocks(int64_t count, int threads = kThreads, int64_t shared_bytes = 0) {
  constexpr int64_t kMostBlocks = int64_t{1} << 30;
  return {dim3(static_cast<unsigned>(std::min(kMostBlocks, std::max<int64_t>(1, count)))),
          dim3(static_cast<unsigned>(threads)), shared_bytes};
}

#ifdef __CUDACC__

inline void check_cuda(cudaError_t error, const char* what) {
  require<DeviceError>(error == cudaSuccess, "cuda", "{}: {}", what, cudaGetErrorString(error));
}

template <class... Parameters, class... Arguments>
void launch(Queue& queue, const Grid& grid, void (*kernel)(Parameters...), Arguments&&... arguments) {
  constexpr int64_t kAlwaysAllowed = int64_t{48} << 10;
  if (grid.shared_bytes > kAlwaysAllowed) {
    check_cuda(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(grid.shared_bytes)),
               "shared memory");
  }
  kernel<<<grid.blocks, grid.threads, static_cast<size_t>(grid.shared_bytes),
           static_cast<cudaStream_t>(queue.handle())>>>(std::forward<Arguments>(arguments)...);
  check_cuda(cudaGetLastError(), "a kernel could not be started");
}

#else

template <class... Parameters, class... Arguments>
void launch(Queue& /*queue*/, const Grid& grid, void (*kernel)(Parameters...), Arguments... arguments) {
  emulation::run_grid(grid.blocks, grid.threads, static_cast<size_t>(grid.shared_bytes), [&] { kernel(arguments...); });
}

#endif

}  // namespace heed::cuda
