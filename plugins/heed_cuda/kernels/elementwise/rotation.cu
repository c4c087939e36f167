#include <cmath>
#include <mutex>
#include <numbers>

#include "heed_cuda/device/launch.h"
#include "heed_cuda/kernels/elementwise/elementwise.h"
#include "heed_cuda/kernels/machine/pack.cuh"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

constexpr int64_t kHeadsOfThread = 4;

template <class T>
struct RotatedRows {
  Matrix<T> x;
  const int32_t* positions;
  const double* turns;  // per position, of each pair
  int64_t heads, half;
  float magnitude;
};

// A thread rotates kWidth neighbouring pairs of up to kHeadsOfThread heads of a row. The angle is reduced to a turn in
// double, so that far positions lose nothing.
template <class T, int kWidth>
__global__ void rotate_kernel(RotatedRows<T> of) {
  constexpr bool kAligned = kWidth > 1;
  const int64_t packs = of.half / kWidth, groups = (of.heads + kHeadsOfThread - 1) / kHeadsOfThread;
  const int64_t head_width = of.x.columns / of.heads;
  for (int64_t i = thread_of_grid(); i < of.x.rows * groups * packs; i += threads_of_grid()) {
    const int64_t pair = i % packs * kWidth, group = i / packs % groups, row = i / (packs * groups);
    float cosine[kWidth], sine[kWidth];
    HEED_UNROLL
    for (int j = 0; j < kWidth; ++j) {
      const double turns = of.positions[row] * of.turns[pair + j];
      const float angle = static_cast<float>((turns - rint(turns)) * (2.0 * std::numbers::pi));
      cosine[j] = of.magnitude * cosf(angle);
      sine[j] = of.magnitude * sinf(angle);
    }
    const int64_t end = min(of.heads, (group + 1) * kHeadsOfThread);
    for (int64_t head = group * kHeadsOfThread; head < end; ++head) {
      T* const first = of.x.row(row) + head * head_width + pair;
      float a[kWidth], b[kWidth], turned[kWidth];
      load_pack(first, kWidth, kAligned, a);
      load_pack(first + of.half, kWidth, kAligned, b);
      HEED_UNROLL
      for (int j = 0; j < kWidth; ++j) {
        turned[j] = a[j] * cosine[j] - b[j] * sine[j];
        b[j] = a[j] * sine[j] + b[j] * cosine[j];
      }
      store_pack(turned, first, kWidth, kAligned);
      store_pack(b, first + of.half, kWidth, kAligned);
    }
  }
}

// Turns per position of each pair. A model has one set or two, which are computed once.
std::vector<double> turns_of(const RotaryPairs& pairs) {
  static std::mutex mutex;
  static std::vector<std::pair<RotaryPairs, std::vector<double>>> known;
  constexpr size_t kMostKnown = 16;
  const std::lock_guard lock(mutex);
  for (const auto& [of, turns] : known) {
    if (of == pairs) {
      return turns;
    }
  }
  std::vector<double> turns;
  for (int64_t pair = 0; pair < pairs.dims / 2; ++pair) {
    turns.push_back(pairs.frequency(pair) / (2.0 * std::numbers::pi));
  }
  if (known.size() == kMostKnown) {
    known.erase(known.begin());
  }
  known.emplace_back(pairs, turns);
  return turns;
}

}  // namespace

void rotate(Context& context, const Rotation& call) {
  const RotaryPairs pairs = call.pairs();
  std::vector<double> turns = turns_of(pairs);
  if (call.turn == Turn::backward) {
    for (double& turn : turns) {
      turn = -turn;
    }
  }
  const int64_t half = call.dims / 2;
  if (half == 0 || call.x.elements() == 0) {
    return;
  }
  const double* const turns_of_pairs = context.uploaded(std::span<const double>(turns));
  const int64_t groups = ceil_div(call.heads, kHeadsOfThread);
  Operands operands(context);
  for_storage(call.x.type(), [&]<class T>(T) {
    const RotatedRows<T> of{.x = operands.in_out<T>(call.x),
                            .positions = operands.in<int32_t>(call.position_rows).data,
                            .turns = turns_of_pairs,
                            .heads = call.heads,
                            .half = half,
                            .magnitude = static_cast<float>(pairs.magnitude())};
    const bool packs = half % kPack<T> == 0 && of.x.columns / of.heads % kPack<T> == 0 && all_aligned(of.x);
    if (packs) {
      launch(context.queue, grid_over(of.x.rows * groups * (half / kPack<T>)), rotate_kernel<T, kPack<T>>, of);
    } else {
      launch(context.queue, grid_over(of.x.rows * groups * half), rotate_kernel<T, 1>, of);
    }
  });
  operands.finish();
}

}  // namespace heed::cuda
