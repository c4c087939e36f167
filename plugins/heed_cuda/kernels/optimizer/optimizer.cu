#include "heed_cuda/kernels/optimizer/optimizer.h"

#include <cmath>

#include "heed_cuda/kernels/machine/pack.cuh"
#include "heed_cuda/kernels/machine/team.cuh"
#include "heed_cuda/kernels/optimizer/range_chunks.cuh"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

constexpr int64_t kSumBytes = kThreads / kWarp * static_cast<int64_t>(sizeof(double));

// A block for each chunk.
__global__ void chunk_norms_kernel(RangeChunks of, const float* x, double* partial) {
  HEED_SHARED(shared);
  const ChunkOfRange chunk = chunk_of_range(of, blockIdx.x);
  const float* const from = x + chunk.first;
  double sum = 0.0;
  for (int64_t i = threadIdx.x; i < chunk.count; i += kThreads) {
    const auto value = static_cast<double>(from[i]);
    sum += value * value;
  }
  sum = team_sum<kThreads>(sum, reinterpret_cast<double*>(shared));
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
  }
}

// A warp for each range, whose chunks' sums it adds.
__global__ void range_norms_kernel(RangeChunks of, const double* partial, double* norms) {
  const int64_t range = thread_of_grid() / kWarp;
  if (range >= of.count) {
    return;
  }
  const double* const from = partial + of.ranges[range].first_chunk;
  const int64_t chunks = (of.ranges[range].count + kChunk - 1) / kChunk;
  double sum = 0.0;
  for (int64_t chunk = threadIdx.x % kWarp; chunk < chunks; chunk += kWarp) {
    sum += from[chunk];
  }
  sum = warp_sum(sum);
  if (threadIdx.x % kWarp == 0) {
    norms[range] = sum;
  }
}

// From the first to the last, by one warp: kWarp values are read at a time.
__global__ void sum_kernel(const double* x, int64_t count, double* total) {
  double sum = 0.0;
  for (int64_t first = 0; first < count; first += kWarp) {
    const int64_t own = first + threadIdx.x;
    const double value = own < count ? x[own] : 0.0;
    const int64_t here = min(int64_t{kWarp}, count - first);
    for (int lane = 0; lane < kWarp; ++lane) {
      const double next = __shfl_sync(kWholeWarp, value, lane);
      sum = lane < here ? sum + next : sum;
    }
  }
  if (threadIdx.x == 0) {
    *total = sum;
  }
}

// The numbers of one sweep, computed once in double, and those that the calls give.
struct AdamGiven {
  double learning_rate, beta1, beta2, epsilon, max_norm, weight_decay;
  WeightDecay decay_kind;
};
struct AdamNumbers {
  int32_t runs;  // not where the norm is not finite
  float clip, step_size, root_correction;
};

__global__ void adam_numbers_kernel(AdamGiven given, const double* squared_norm, double* applied,
                                    AdamNumbers* numbers) {
  if (threadIdx.x != 0) {
    return;
  }
  const double norm = sqrt(*squared_norm);
  AdamNumbers result{};
  if (norm < INFINITY) {  // which no NaN is
    const double step = *applied + 1.0;
    *applied = step;
    result.runs = 1;
    result.clip = static_cast<float>(given.max_norm > 0.0 ? min(1.0, given.max_norm / (norm + 1e-6)) : 1.0);
    result.step_size = static_cast<float>(given.learning_rate / (1.0 - pow(given.beta1, step)));
    result.root_correction = static_cast<float>(1.0 / sqrt(1.0 - pow(given.beta2, step)));
  }
  *numbers = result;
}

struct AdamArrays {
  float* weights;
  const float* gradients;
  float* first_moments;
  float* second_moments;
  bf16* copy;  // or null
};

struct AdamConstants {
  // kept: what decay leaves of a weight; kept_opposed: of one whose sign is the opposite of its first moment's
  float beta1, rest1, beta2, rest2, epsilon, coupled_decay, kept, kept_opposed;
};

__device__ inline void adam_element(const AdamConstants& k, const AdamNumbers& n, float gradient, float& w, float& m,
                                    float& v) {
  const float g = n.clip * gradient + k.coupled_decay * w;
  m = k.beta1 * m + k.rest1 * g;
  v = k.beta2 * v + k.rest2 * (g * g);
  w = (m * w >= 0.0F ? k.kept : k.kept_opposed) * w - n.step_size * (m / (sqrtf(v) * n.root_correction + k.epsilon));
}

// A block for each chunk. Where all of its arrays begin at multiples of 16 bytes, four elements at a time.
__global__ void adam_kernel(RangeChunks of, AdamArrays arrays, AdamConstants decaying, AdamConstants spared,
                            const AdamNumbers* numbers) {
  const AdamNumbers n = *numbers;
  if (n.runs == 0) {
    return;
  }
  const ChunkOfRange chunk = chunk_of_range(of, blockIdx.x);
  const AdamConstants k = of.ranges[chunk.range].decays != 0 ? decaying : spared;
  float* const weights = arrays.weights + chunk.first;
  const float* const gradients = arrays.gradients + chunk.first;
  float* const first = arrays.first_moments + chunk.first;
  float* const second = arrays.second_moments + chunk.first;
  bf16* const copy = arrays.copy == nullptr ? nullptr : arrays.copy + chunk.first;
  const auto bits = [](const void* address) { return reinterpret_cast<uintptr_t>(address); };
  constexpr int kWidth = 4;
  int64_t done = 0;
  if ((bits(weights) | bits(gradients) | bits(first) | bits(second)) % 16 == 0 && bits(copy) % 8 == 0) {
    done = chunk.count / kWidth * kWidth;
    for (int64_t i = static_cast<int64_t>(threadIdx.x) * kWidth; i < done; i += kThreads * kWidth) {
      float g[kWidth], w[kWidth], m[kWidth], v[kWidth];
      load_pack(gradients + i, kWidth, true, g);
      load_pack(weights + i, kWidth, true, w);
      load_pack(first + i, kWidth, true, m);
      load_pack(second + i, kWidth, true, v);
      HEED_UNROLL
      for (int j = 0; j < kWidth; ++j) {
        adam_element(k, n, g[j], w[j], m[j], v[j]);
      }
      store_pack(w, weights + i, kWidth, true);
      store_pack(m, first + i, kWidth, true);
      store_pack(v, second + i, kWidth, true);
      if (copy != nullptr) {
        store_eight(bf16_pair(w[0], w[1]), bf16_pair(w[2], w[3]), copy + i);
      }
    }
  }
  for (int64_t i = done + threadIdx.x; i < chunk.count; i += kThreads) {
    float w = weights[i], m = first[i], v = second[i];
    adam_element(k, n, gradients[i], w, m, v);
    weights[i] = w;
    first[i] = m;
    second[i] = v;
    if (copy != nullptr) {
      copy[i] = from_float<bf16>(w);
    }
  }
}

AdamConstants adam_constants(const AdamSweep& call, Decays decays) {
  const bool decoupled = call.decay_kind != WeightDecay::coupled;
  const double decay = decays == Decays::yes ? call.weight_decay : 0.0;
  const auto kept = static_cast<float>(decoupled ? 1.0 - call.learning_rate * decay : 1.0);
  return {.beta1 = static_cast<float>(call.beta1),
          .rest1 = static_cast<float>(1.0 - call.beta1),
          .beta2 = static_cast<float>(call.beta2),
          .rest2 = static_cast<float>(1.0 - call.beta2),
          .epsilon = static_cast<float>(call.epsilon),
          .coupled_decay = static_cast<float>(decoupled ? 0.0 : decay),
          .kept = kept,
          .kept_opposed = call.decay_kind == WeightDecay::cautious ? 1.0F : kept};
}

}  // namespace

void squared_norms(Context& context, const ConstView& x, std::span<const ElementRange> ranges, const View& norms) {
  if (ranges.empty()) {
    return;
  }
  Operands operands(context);
  const RangeChunks chunks(context, ranges);
  const float* const from = operands.in<float>(x).data;
  double* const to = operands.out<double>(norms).data;
  const Tensor partial({std::max<int64_t>(1, chunks.chunks)}, DType::f64, context.arena);
  auto* const sums = static_cast<double*>(device_address(partial.view()));
  if (chunks.chunks > 0) {
    launch(context.queue, grid_of_blocks(chunks.chunks, kThreads, kSumBytes), chunk_norms_kernel, chunks, from, sums);
  }
  launch(context.queue, grid_of_blocks(ceil_div(chunks.count, kThreads / kWarp)), range_norms_kernel, chunks, sums, to);
  operands.finish();
}

void sum(Context& context, const ConstView& x, const View& total) {
  Operands operands(context);
  const Matrix<const double> from = operands.in<double>(x);
  launch(context.queue, grid_of_blocks(1, kWarp), sum_kernel, from.data, from.columns,
         operands.out<double>(total).data);
  operands.finish();
}

void adam(Context& context, const AdamSweep& call) {
  Operands operands(context);
  const AdamArrays arrays{.weights = operands.in_out<float>(call.weights).data,
                          .gradients = operands.in<float>(call.gradients).data,
                          .first_moments = operands.in_out<float>(call.first_moments).data,
                          .second_moments = operands.in_out<float>(call.second_moments).data,
                          .copy = operands.in_out<bf16>(call.copy).data};
  const AdamGiven given{call.learning_rate, call.beta1,        call.beta2,     call.epsilon,
                        call.max_norm,      call.weight_decay, call.decay_kind};
  const Tensor memory({static_cast<int64_t>(sizeof(AdamNumbers))}, DType::i8, context.arena);
  auto* const numbers = static_cast<AdamNumbers*>(device_address(memory.view()));
  launch(context.queue, grid_of_blocks(1, kWarp), adam_numbers_kernel, given,
         operands.in<double>(call.squared_norm).data, operands.in_out<double>(call.applied).data, numbers);
  const RangeChunks chunks(context, call.ranges);
  if (chunks.chunks > 0) {
    launch(context.queue, grid_of_blocks(chunks.chunks), adam_kernel, chunks, arrays, adam_constants(call, Decays::yes),
           adam_constants(call, Decays::no), numbers);
  }
  operands.finish();
}

}  // namespace heed::cuda
