#include <cmath>
#include <mutex>
#include <numbers>

#include "heed_cuda/device/launch.h"
#include "heed_cuda/kernels/elementwise.h"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

// A thread rotates one pair of all heads of a row. The angle is reduced to a turn in double, so that far positions
// lose nothing.
template <class T>
__global__ void rotate_kernel(Matrix<T> x, const int32_t* positions, const double* turns_of_pairs, int64_t heads,
                              int64_t half, float magnitude) {
  const int64_t head_width = x.columns / heads;
  for (int64_t i = thread_of_grid(); i < x.rows * half; i += threads_of_grid()) {
    const int64_t row = i / half, pair = i % half;
    const double turns = positions[row] * turns_of_pairs[pair];
    const float angle = static_cast<float>((turns - rint(turns)) * (2.0 * std::numbers::pi));
    const float cosine = magnitude * cosf(angle), sine = magnitude * sinf(angle);
    T* first = x.row(row) + pair;
    for (int64_t head = 0; head < heads; ++head, first += head_width) {
      const float a = to_float(first[0]), b = to_float(first[half]);
      first[0] = from_float<T>(a * cosine - b * sine);
      first[half] = from_float<T>(a * sine + b * cosine);
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
  Operands operands(context);
  for_storage(call.x.type(), [&]<class T>(T) {
    launch(context.queue, grid_over(call.x.rows() * half), rotate_kernel<T>, operands.in_out<T>(call.x),
           operands.in<int32_t>(call.position_rows).data, turns_of_pairs, call.heads, half,
           static_cast<float>(pairs.magnitude()));
  });
  operands.finish();
}

}  // namespace heed::cuda
