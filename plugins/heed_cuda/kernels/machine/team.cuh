// Teams: the threads that share a row, which are a warp or a block.
#pragma once

#include "heed_cuda/device/launch.h"

namespace heed::cuda {

// A team of kWarp threads is one of several in a block of kThreads; a larger one is a block.
template <int kTeam>
constexpr int kTeamBlock = kTeam == kWarp ? kThreads : kTeam;
template <int kTeam>
constexpr int kTeamsOfBlock = kTeamBlock<kTeam> / kTeam;

template <int kTeam>
__device__ inline int member_of_team() {
  return static_cast<int>(threadIdx.x) % kTeam;
}
template <int kTeam>
__device__ inline int64_t team_of_grid() {
  return static_cast<int64_t>(blockIdx.x) * kTeamsOfBlock<kTeam> + threadIdx.x / kTeam;
}
template <int kTeam>
__device__ inline int64_t teams_of_grid() {
  return static_cast<int64_t>(gridDim.x) * kTeamsOfBlock<kTeam>;
}

// Combines a warp's values in every lane, then the warps' in their order. `memory` has kTeam / kWarp values, which
// teams of one warp do not need. All threads of a team that is a block take part.
template <int kTeam, class V, class OfWarp, class OfTwo>
__device__ inline V combine_team(V x, V* memory, OfWarp&& of_warp, OfTwo&& of_two) {
  x = of_warp(x);
  if constexpr (kTeam > kWarp) {
    if (threadIdx.x % kWarp == 0) {
      memory[threadIdx.x / kWarp] = x;
    }
    __syncthreads();
    x = memory[0];
    for (int warp = 1; warp < kTeam / kWarp; ++warp) {
      x = of_two(x, memory[warp]);
    }
    __syncthreads();
  }
  return x;
}
template <int kTeam, class V>
__device__ inline V team_sum(V x, V* memory) {
  return combine_team<kTeam>(
      x, memory, [](V value) { return warp_sum(value); }, [](V a, V b) { return a + b; });
}
template <int kTeam>
__device__ inline float team_max(float x, float* memory) {
  return combine_team<kTeam>(
      x, memory, [](float value) { return warp_max(value); }, [](float a, float b) { return fmaxf(a, b); });
}

// A team for each of `count` rows.
template <int kTeam>
Grid grid_of_teams(int64_t count, int64_t shared_bytes = 0) {
  return grid_of_blocks(ceil_div(count, kTeamsOfBlock<kTeam>), kTeamBlock<kTeam>, shared_bytes);
}

}  // namespace heed::cuda
