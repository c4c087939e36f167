// What the norm and its gradient share: which team takes a row, and what a row's threads hold.
#pragma once

#include <type_traits>

#include "base/errors.h"
#include "heed_cuda/kernels/machine/pack.cuh"
#include "heed_cuda/kernels/machine/sweep.cuh"
#include "heed_cuda/kernels/machine/team.cuh"
#include "kernels/calls/norm.h"

namespace heed::cuda {

template <int kTeam, int kPacks>
struct RowTeam {
  static constexpr int kThreadsOfRow = kTeam, kPacksOfThread = kPacks;
};

// Calls body with the team for rows of that many packs, of which each thread holds kPacks: body(RowTeam<...>{}). A warp
// takes what fits its registers, since it need not wait for others.
template <class T, class Body>
void for_row_team(int64_t packs, Body&& body) {
  if (packs <= 32) {
    return body(RowTeam<32, 1>{});
  }
  if (packs <= 64) {
    return body(RowTeam<32, 2>{});
  }
  if (packs <= 128) {
    return body(std::conditional_t<sizeof(T) == 4, RowTeam<32, 4>, RowTeam<128, 1>>{});
  }
  if (packs <= 256) {
    return body(RowTeam<128, 2>{});
  }
  if (packs <= 1024) {
    return body(RowTeam<512, 2>{});
  }
  ensure(packs <= 8192, "cuda", "a norm of {} packs of columns", packs);
  body(RowTeam<512, 16>{});
}

// Row i of all groups of all rows.
struct GroupedRow {
  int64_t row, first_column;
};
__device__ inline GroupedRow grouped_row(int64_t index, int64_t groups, int64_t columns) {
  return groups == 1 ? GroupedRow{index, 0} : GroupedRow{index / groups, index % groups * columns};
}

// Calls body(pack, column) for each of a thread's packs.
template <class Team, int kWidth, class Body>
__device__ inline void each_pack(int64_t columns, Body&& body) {
  HEED_UNROLL
  for (int pack = 0; pack < Team::kPacksOfThread; ++pack) {
    const int64_t column =
        (member_of_team<Team::kThreadsOfRow>() + static_cast<int64_t>(pack) * Team::kThreadsOfRow) * kWidth;
    if (column < columns) {
      body(pack, column);
    }
  }
}

}  // namespace heed::cuda
