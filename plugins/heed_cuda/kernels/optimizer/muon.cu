#include <cmath>

#include "heed_cuda/kernels/machine/sweep.cuh"
#include "heed_cuda/kernels/machine/team.cuh"
#include "heed_cuda/kernels/optimizer/optimizer.h"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

constexpr int64_t kMuonChunk = 8192;

struct MuonMomentum {
  Matrix<const float> gradients;
  Matrix<float> moments;
  const double* squared_norm;
  float momentum, max_norm;

  // g = gradient * clip; not to be asked where the norm is not finite.
  __device__ float clip() const {
    const double norm = sqrt(*squared_norm);
    return max_norm > 0.0F ? static_cast<float>(min(1.0, max_norm / (norm + 1e-6))) : 1.0F;
  }
  __device__ bool runs() const { return *squared_norm < INFINITY; }  // which no NaN is
};

// u = g + momentum m, from the m of this update.
__device__ inline float muon_update(float g, float momentum, float m) { return g + momentum * m; }

// A block for each chunk of elements: m = momentum m + g, and the sum of the squares of u.
__global__ void muon_momentum_kernel(MuonMomentum of, double* partial) {
  HEED_SHARED(shared);
  double sum = 0.0;
  if (of.runs()) {
    const float clip = of.clip();
    const int64_t first = static_cast<int64_t>(blockIdx.x) * kMuonChunk, columns = of.moments.columns;
    const int64_t end = min(first + kMuonChunk, of.moments.rows * columns);
    for (int64_t i = first + threadIdx.x; i < end; i += kThreads) {
      const int64_t r = i / columns, c = i % columns;
      const float g = clip * of.gradients(r, c);
      const float m = of.momentum * of.moments(r, c) + g;
      of.moments(r, c) = m;
      const auto u = static_cast<double>(muon_update(g, of.momentum, m));
      sum += u * u;
    }
  }
  sum = team_sum<kThreads>(sum, reinterpret_cast<double*>(shared));
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
  }
}

// Each block adds the chunks' sums in the same order, and then takes its chunk: direction = u / |u|.
template <class T>
__global__ void muon_direction_kernel(MuonMomentum of, const double* partial, int64_t chunks, Matrix<T> direction) {
  HEED_SHARED(shared);
  double squares = 0.0;
  for (int64_t chunk = threadIdx.x; chunk < chunks; chunk += kThreads) {
    squares += partial[chunk];
  }
  squares = team_sum<kThreads>(squares, reinterpret_cast<double*>(shared));
  const float factor = of.runs() && squares > 0.0 ? static_cast<float>(1.0 / sqrt(squares)) : 0.0F;
  const float clip = of.runs() ? of.clip() : 0.0F;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kMuonChunk, columns = direction.columns;
  const int64_t end = min(first + kMuonChunk, direction.rows * columns);
  for (int64_t i = first + threadIdx.x; i < end; i += kThreads) {
    const int64_t r = i / columns, c = i % columns;
    const float u = muon_update(clip * of.gradients(r, c), of.momentum, of.moments(r, c));
    direction(r, c) = from_float<T>(factor == 0.0F ? 0.0F : u * factor);
  }
}

// A block for each row: the sum of its squares.
template <class T>
__global__ void muon_squares_kernel(Matrix<const T> direction, double* squares) {
  HEED_SHARED(shared);
  double sum = 0.0;
  for (int64_t c = threadIdx.x; c < direction.columns; c += kThreads) {
    const auto x = static_cast<double>(to_float(direction(blockIdx.x, c)));
    sum += x * x;
  }
  sum = team_sum<kThreads>(sum, reinterpret_cast<double*>(shared));
  if (threadIdx.x == 0) {
    squares[blockIdx.x] = sum;
  }
}

struct MuonRowMoments {
  Matrix<float> moments, factors;
  const double *squares, *squared_norm;
  int64_t rows, columns;
  double kept;
};

__device__ inline double muon_row_factor(float moment) {
  return 1.0 / (sqrt(static_cast<double>(moment)) + kMuonRowEpsilon);
}

// One block for all rows: their moments, the norms with and without factors, and the factors.
__global__ void muon_factors_kernel(MuonRowMoments of) {
  HEED_SHARED(shared);
  auto* const memory = reinterpret_cast<double*>(shared);
  double before = 0.0, after = 0.0;
  for (int64_t r = threadIdx.x; r < of.rows; r += kThreads) {
    float v = of.moments(0, r);
    if (*of.squared_norm < INFINITY) {
      const double mean = of.squares[r] / static_cast<double>(of.columns);
      v = static_cast<float>(of.kept * static_cast<double>(v) + (1.0 - of.kept) * mean);
      of.moments(0, r) = v;
    }
    const double factor = muon_row_factor(v);
    before += of.squares[r];
    after += of.squares[r] * factor * factor;
  }
  before = team_sum<kThreads>(before, memory);
  __syncthreads();
  after = team_sum<kThreads>(after, memory);
  const double whole = after > 0.0 ? sqrt(before / after) : 0.0;
  for (int64_t r = threadIdx.x; r < of.rows; r += kThreads) {
    of.factors(0, r) = static_cast<float>(whole * muon_row_factor(of.moments(0, r)));
  }
}

template <class T>
struct MuonStepPack {
  Matrix<float> weights;
  Matrix<bf16> copy;
  Matrix<const T> direction;
  Matrix<const float> row_factors;
  const double* squared_norm;
  float rate, scale, decay, decay_opposed;  // the latter of a weight whose sign is the opposite of its direction's
  bool aligned;

  __device__ void operator()(int64_t r, int64_t c, int64_t left) const {
    constexpr int kWidth = kPack<bf16>;
    if (!(*squared_norm < INFINITY)) {
      return;
    }
    float w[kWidth], d[kWidth];
    load_pack(weights.row(r) + c, left, aligned, w);
    load_pack(direction.row(r) + c, left, aligned, d);
    const float scale_of_row = row_factors.empty() ? scale : scale * row_factors(0, r);
    HEED_UNROLL
    for (int j = 0; j < kWidth; ++j) {
      w[j] -= rate * (scale_of_row * d[j] + (d[j] * w[j] >= 0.0F ? decay : decay_opposed) * w[j]);
    }
    store_pack(w, weights.row(r) + c, left, aligned);
    if (!copy.empty()) {
      store_pack(w, copy.row(r) + c, left, aligned);
    }
  }
};

}  // namespace

void muon_direction(Context& context, const MuonDirection& call) {
  const int64_t chunks = ceil_div(call.moments.elements(), kMuonChunk);
  if (chunks == 0) {
    return;
  }
  Operands operands(context);
  const MuonMomentum of{.gradients = operands.in<float>(call.gradients),
                        .moments = operands.in_out<float>(call.moments),
                        .squared_norm = operands.in<double>(call.squared_norm).data,
                        .momentum = static_cast<float>(call.momentum),
                        .max_norm = static_cast<float>(call.max_norm)};
  const Tensor partial({chunks}, DType::f64, context.arena);
  auto* const sums = static_cast<double*>(device_address(partial.view()));
  const Grid grid = grid_of_blocks(chunks, kThreads, kThreads / kWarp * static_cast<int64_t>(sizeof(double)));
  launch(context.queue, grid, muon_momentum_kernel, of, sums);
  for_storage(call.direction.type(), [&]<class T>(T) {
    launch(context.queue, grid, muon_direction_kernel<T>, of, sums, chunks, operands.out<T>(call.direction));
  });
  operands.finish();
}

void muon_rows(Context& context, const MuonRows& call) {
  const int64_t rows = call.direction.rows();
  if (rows == 0) {
    return;
  }
  Operands operands(context);
  const Tensor memory({rows}, DType::f64, context.arena);
  auto* const squares = static_cast<double*>(device_address(memory.view()));
  const int64_t shared_bytes = kThreads / kWarp * static_cast<int64_t>(sizeof(double));
  for_storage(call.direction.type(), [&]<class T>(T) {
    launch(context.queue, grid_of_blocks(rows, kThreads, shared_bytes), muon_squares_kernel<T>,
           operands.in<T>(call.direction), squares);
  });
  const MuonRowMoments of{.moments = operands.in_out<float>(call.moments),
                          .factors = operands.out<float>(call.factors),
                          .squares = squares,
                          .squared_norm = operands.in<double>(call.squared_norm).data,
                          .rows = rows,
                          .columns = call.direction.columns(),
                          .kept = call.kept};
  launch(context.queue, grid_of_blocks(1, kThreads, shared_bytes), muon_factors_kernel, of);
  operands.finish();
}

void muon_step(Context& context, const MuonStep& call) {
  Operands operands(context);
  for_storage(call.direction.type(), [&]<class T>(T) {
    MuonStepPack<T> of{
        .weights = operands.in_out<float>(call.weights),
        .copy = operands.in_out<bf16>(call.copy),
        .direction = operands.in<T>(call.direction),
        .row_factors = operands.in<float>(call.row_factors),
        .squared_norm = operands.in<double>(call.squared_norm).data,
        .rate = static_cast<float>(call.learning_rate),
        .scale = static_cast<float>(call.scale),
        .decay = static_cast<float>(call.weight_decay),
        .decay_opposed = static_cast<float>(call.decay_kind == WeightDecay::cautious ? 0.0 : call.weight_decay),
        .aligned = false};
    of.aligned = all_aligned(of.weights, of.copy, of.direction);
    sweep<kPack<bf16>>(context, of.weights.rows, of.weights.columns, of);
  });
  operands.finish();
}

}  // namespace heed::cuda
