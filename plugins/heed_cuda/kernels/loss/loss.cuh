// What losses and log-probabilities share: the largest of a row of logits and the sum of its exponentials.
#pragma once

#include "heed_cuda/kernels/machine/pack.cuh"
#include "heed_cuda/kernels/machine/team.cuh"

namespace heed::cuda {

// A sum of exponentials of what was seen so far, relative to the largest of it.
struct ExponentialSum {
  float largest = -INFINITY, total = 0.0F;
};

// Where the largest is minus infinity, all are, or NaN: their exponentials are 0, or NaN.
__device__ inline float shift_of(float largest) { return largest == -INFINITY ? 0.0F : largest; }
__device__ inline float exponential(float x, float shift) {
  constexpr float kLog2E = 1.4426950408889634F;
  return exp2f((x - shift) * kLog2E);
}

template <int kWidth>
__device__ inline void add_exponentials(const float (&x)[kWidth], int64_t left, ExponentialSum& sum) {
  float largest = sum.largest;
  HEED_UNROLL
  for (int j = 0; j < kWidth; ++j) {
    largest = j < left ? fmaxf(largest, x[j]) : largest;
  }
  if (largest > sum.largest) {
    sum.total *= exponential(sum.largest, largest);
    sum.largest = largest;
  }
  const float shift = shift_of(largest);
  HEED_UNROLL
  for (int j = 0; j < kWidth; ++j) {
    sum.total += j < left ? exponential(x[j], shift) : 0.0F;
  }
}

// Adds up a team's sums, in each of its threads.
template <int kTeam>
__device__ inline ExponentialSum team_exponentials(const ExponentialSum& own, float* memory) {
  const float largest = team_max<kTeam>(own.largest, memory);
  return {largest, team_sum<kTeam>(own.total * exponential(own.largest, shift_of(largest)), memory)};
}

template <int kTeam>
struct LossTeam {
  static constexpr int kThreadsOfRow = kTeam;
};

// Calls body with the team for rows of that many columns.
template <class Body>
void for_loss_team(int64_t columns, Body&& body) {
  if (columns <= 1024) {
    return body(LossTeam<32>{});
  }
  if (columns <= 16384) {
    return body(LossTeam<256>{});
  }
  body(LossTeam<1024>{});
}

}  // namespace heed::cuda
