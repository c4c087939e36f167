// The gradients of linear attention. With G = [g, h] of a query and V = [v, 1] of a key, and sums over pairs that see
// each other:
//   d_phi(q) = S G, where S = the sum of phi(k) V^T over its keys
//   d_phi(k) = R V and d_v = R^T phi(k), where R = the sum of phi(q) G^T over the key's queries
// Both sums are those of chunks before, or after, by blocks, and of the pairs within the chunk, by warps.
#include "heed_cuda/device/launch.h"
#include "heed_cuda/kernels/recurrence/linear_attention.cuh"
#include "heed_cuda/kernels/recurrence/recurrence.h"

namespace heed::cuda {
namespace {

constexpr int kLinearBackwardWarps = 4;

template <class T>
struct LinearBackwardOperands {
  Matrix<const T> queries;
  LinearRows<T> memory;
  Matrix<const float> states, later;  // S of all chunks before, R of all chunks after
  Matrix<const float> upstream;       // G

  __device__ const T* query(const LinearFrame& frame, int64_t row, int head) const {
    return queries.row(row) + int64_t{head} * frame.key_width;
  }
  __device__ const float* g(const LinearFrame& frame, int64_t row, int head) const {
    return upstream.row(row) + int64_t{head} * (frame.value_width + 1);
  }
};

// g = d_output / divisor, h = -(d_output . output) / divisor
template <class T>
__global__ void upstream_kernel(LinearFrame frame, Matrix<const T> output, Matrix<const T> d_output,
                                Matrix<const float> divisors, Matrix<float> upstream) {
  const int64_t task = int64_t{blockIdx.x} * kLinearBackwardWarps + threadIdx.x / kWarp;
  if (task >= frame.queries.rows * frame.heads) {
    return;
  }
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const int64_t row = task / frame.heads, head = task % frame.heads;
  const float inverse = 1.0F / divisors(row, head);
  float* const to = upstream.row(row) + head * (frame.value_width + 1);
  float h = 0.0F;
  for (int v = lane; v < frame.value_width; v += kWarp) {
    const float g = to_float(d_output(row, head * frame.value_width + v)) * inverse;
    to[v] = g;
    h = fmaf(-g, to_float(output(row, head * frame.value_width + v)), h);
  }
  h = warp_sum(h);
  if (lane == 0) {
    to[frame.value_width] = h;
  }
}

// R, from the last chunk to the first. Queries and keys are the same tokens.
template <class T>
__global__ void later_states_kernel(LinearFrame frame, LinearBackwardOperands<T> from, Matrix<float> later) {
  HEED_SHARED(memory);
  float* const shared = reinterpret_cast<float*>(memory);
  const int key_head = static_cast<int>(blockIdx.x % frame.key_heads());
  const TokenPlace of = frame.sequence(blockIdx.x / frame.key_heads(), 0, 0);
  const int64_t first_c = int64_t{blockIdx.y} * kStateTile, first_v = int64_t{blockIdx.z} * kStateTile;
  const int64_t begin = frame.queries.offsets[of.sequence];
  float state[kStateElements] = {};
  for (int64_t chunk = (of.keys + kLinearChunk - 1) / kLinearChunk - 1; chunk >= 0; --chunk) {
    if (frame.causal()) {
      write_state(frame, state, later.row(frame.state_row(of, chunk, key_head)));
    }
    const int64_t first = chunk * kLinearChunk, tokens = min(int64_t{kLinearChunk}, of.keys - first);
    float sums[kStateElements] = {};
    for (int head = key_head * frame.group; head < (key_head + 1) * frame.group; ++head) {
      sum_chunk(
          tokens,
          [&](int64_t token, int64_t c) {
            return first_c + c < frame.key_width
                       ? feature_of(frame.feature,
                                    to_float(from.query(frame, begin + first + token, head)[first_c + c]))
                       : 0.0F;
          },
          [&](int64_t token, int64_t v) {
            return first_v + v <= frame.value_width ? from.g(frame, begin + first + token, head)[first_v + v] : 0.0F;
          },
          shared, sums);
    }
    HEED_UNROLL
    for (int n = 0; n < kStateElements; ++n) {
      state[n] += sums[n];
    }
  }
  if (!frame.causal()) {
    write_state(frame, state, later.row(frame.state_row(of, 0, key_head)));
  }
}

// The shared memory of a warp: a row of phi, one of G or V, and two numbers for each token of a chunk.
struct LinearBackwardShared {
  float *feature, *values, *scores, *d_scores;

  __host__ __device__ static int64_t floats(const LinearFrame& frame) {
    return int64_t{frame.key_width} + frame.value_width + 1 + 2 * kLinearChunk;
  }
  __device__ LinearBackwardShared(unsigned char* memory, const LinearFrame& frame) {
    feature = reinterpret_cast<float*>(memory) + (threadIdx.x / kWarp) * floats(frame);
    values = feature + frame.key_width;
    scores = values + frame.value_width + 1;
    d_scores = scores + kLinearChunk;
  }
};

// G . V
template <class T>
__device__ float d_score_of(const LinearFrame& frame, const float* g, const T* value) {
  float sum = g[frame.value_width];
  for (int v = 0; v < frame.value_width; ++v) {
    sum = fmaf(g[v], to_float(value[v]), sum);
  }
  return sum;
}

template <class T>
__global__ void linear_d_queries_kernel(LinearFrame frame, LinearBackwardOperands<T> from, Matrix<T> d_queries) {
  HEED_SHARED(memory);
  const LinearBackwardShared own(memory, frame);
  const int64_t task = int64_t{blockIdx.x} * kLinearBackwardWarps + threadIdx.x / kWarp;
  if (task >= frame.queries.rows * frame.heads) {
    return;
  }
  const int lane = static_cast<int>(threadIdx.x % kWarp), head = static_cast<int>(task % frame.heads);
  const int key_head = head / frame.group;
  const TokenPlace query = frame.place(frame.queries, task / frame.heads);
  const int64_t chunk = query.position() / kLinearChunk, first_row = frame.keys.offsets[query.sequence];
  load_row(from.g(frame, query.row, head), frame.value_width + 1, lane, own.values);
  __syncwarp();
  const int64_t first = first_row + chunk * kLinearChunk;
  const int count = frame.causal() ? static_cast<int>(query.position() % kLinearChunk) + 1 : 0;
  for (int j = lane; j < count; j += kWarp) {
    own.d_scores[j] = d_score_of(frame, own.values, from.memory.value(frame, first + j, key_head));
  }
  __syncwarp();
  const float* const state = from.states.row(frame.state_row(query, chunk, key_head));
  for (int c = lane; c < frame.key_width; c += kWarp) {
    float sum = 0.0F;
    for (int v = 0; v <= frame.value_width; ++v) {
      sum = fmaf(own.values[v], state[int64_t{c} * (frame.value_width + 1) + v], sum);
    }
    for (int j = 0; j < count; ++j) {
      sum = fmaf(own.d_scores[j], feature_of(frame.feature, to_float(from.memory.key(frame, first + j, key_head)[c])),
                 sum);
    }
    const float x = to_float(from.query(frame, query.row, head)[c]);
    d_queries(query.row, int64_t{head} * frame.key_width + c) = from_float<T>(sum * slope_of(frame.feature, x));
  }
}

// The gradients of a key's own chunk, of one head's queries: their scores and d_scores.
template <class T>
__device__ void score_queries(const LinearFrame& frame, const LinearBackwardOperands<T>& from,
                              const LinearBackwardShared& own, int64_t first, int count, int head) {
  for (int i = static_cast<int>(threadIdx.x % kWarp); i < count; i += kWarp) {
    const T* const q = from.query(frame, first + i, head);
    const float* const g = from.g(frame, first + i, head);
    float score = 0.0F, d_score = 0.0F;
    for (int c = 0; c < frame.key_width; ++c) {
      score = fmaf(own.feature[c], feature_of(frame.feature, to_float(q[c])), score);
    }
    for (int v = 0; v <= frame.value_width; ++v) {
      d_score = fmaf(own.values[v], g[v], d_score);
    }
    own.scores[i] = score;
    own.d_scores[i] = d_score;
  }
}

// N columns a lane of keys, and of values.
template <int N, class T>
__global__ void linear_d_keys_kernel(LinearFrame frame, LinearBackwardOperands<T> from, Matrix<T> d_keys,
                                     Matrix<T> d_values) {
  HEED_SHARED(memory);
  const LinearBackwardShared own(memory, frame);
  const int64_t task = int64_t{blockIdx.x} * kLinearBackwardWarps + threadIdx.x / kWarp;
  if (task >= frame.keys.rows * frame.key_heads()) {
    return;
  }
  const int lane = static_cast<int>(threadIdx.x % kWarp), key_head = static_cast<int>(task % frame.key_heads());
  const TokenPlace key = frame.place(frame.keys, task / frame.key_heads());
  const int64_t width = frame.value_width + 1, chunk = key.index / kLinearChunk;
  const T* const k = from.memory.key(frame, key.row, key_head);
  for (int c = lane; c < frame.key_width; c += kWarp) {
    own.feature[c] = feature_of(frame.feature, to_float(k[c]));
  }
  load_row(from.memory.value(frame, key.row, key_head), frame.value_width, lane, own.values);
  if (lane == 0) {
    own.values[frame.value_width] = 1.0F;
  }
  __syncwarp();
  const float* const later = from.later.row(frame.state_row(key, chunk, key_head));
  float of_key[N] = {}, of_value[N] = {};
  for (int v = 0; v < static_cast<int>(width); ++v) {
    HEED_UNROLL
    for (int n = 0; n < N; ++n) {
      const int c = lane + n * kWarp;
      of_key[n] = c < frame.key_width ? fmaf(own.values[v], later[c * width + v], of_key[n]) : 0.0F;
    }
  }
  for (int c = 0; c < frame.key_width; ++c) {
    add_row(own.feature[c], later + c * width, frame.value_width, lane, of_value);
  }
  if (frame.causal()) {
    const int64_t first = key.row;  // this token's query, and those after it in the chunk
    const int count = static_cast<int>(min((chunk + 1) * kLinearChunk, key.keys) - key.index);
    for (int head = key_head * frame.group; head < (key_head + 1) * frame.group; ++head) {
      score_queries(frame, from, own, first, count, head);
      __syncwarp();
      for (int i = 0; i < count; ++i) {
        const T* const q = from.query(frame, first + i, head);
        HEED_UNROLL
        for (int n = 0; n < N; ++n) {
          const int c = lane + n * kWarp;
          of_key[n] =
              c < frame.key_width ? fmaf(own.d_scores[i], feature_of(frame.feature, to_float(q[c])), of_key[n]) : 0.0F;
        }
        add_row(own.scores[i], from.g(frame, first + i, head), frame.value_width, lane, of_value);
      }
      __syncwarp();
    }
  }
  HEED_UNROLL
  for (int n = 0; n < N; ++n) {
    const int c = lane + n * kWarp;
    of_key[n] *= c < frame.key_width ? slope_of(frame.feature, to_float(k[c])) : 0.0F;
  }
  write_row(of_key, 1.0F, frame.key_width, lane, d_keys.row(key.row) + int64_t{key_head} * frame.key_width);
  write_row(of_value, 1.0F, frame.value_width, lane, d_values.row(key.row) + int64_t{key_head} * frame.value_width);
}

Grid linear_backward_grid(const LinearFrame& frame, int64_t warps) {
  return grid_of_blocks(ceil_div<int64_t>(warps, kLinearBackwardWarps), kLinearBackwardWarps * kWarp,
                        kLinearBackwardWarps * LinearBackwardShared::floats(frame) * int64_t{sizeof(float)});
}

template <class T>
void run_linear_attention_backward(Context& context, const LinearAttentionBackward& call) {
  Operands operands(context);
  const LinearFrame frame = linear_frame_of(context, operands, call.settings, *call.segments, call.memory);
  const int64_t slots = all_state_slots(call.settings.reach, *call.segments, *call.memory.segments);
  LinearBackwardOperands<T> from{.queries = operands.in<T>(call.queries),
                                 .memory = {operands.in<T>(call.memory.keys), operands.in<T>(call.memory.values),
                                            token_rows(context, operands, *call.memory.segments, {})},
                                 .states = {},
                                 .later = {},
                                 .upstream = {}};
  const auto output = operands.in<T>(call.output), d_output = operands.in<T>(call.d_output);
  const auto divisors = operands.in<float>(call.divisors);
  const auto d_queries = operands.out<T>(call.d_queries), d_keys = operands.out<T>(call.d_keys),
             d_values = operands.out<T>(call.d_values);
  const int64_t tasks = frame.queries.rows * frame.heads;
  if (tasks > 0) {
    const Tensor upstream({frame.queries.rows, frame.heads * (frame.value_width + 1)}, DType::f32, context.arena);
    const Tensor states = linear_states(context, operands, frame, from.memory, slots);
    const Tensor later({states.view().rows(), states.view().columns()}, DType::f32, context.arena);
    launch(context.queue, linear_backward_grid(frame, tasks), upstream_kernel<T>, frame, output, d_output, divisors,
           operands.out<float>(upstream.view()));
    from.upstream = operands.in<float>(upstream.view());
    launch(context.queue, state_grid(frame), later_states_kernel<T>, frame, from, operands.out<float>(later.view()));
    from.states = operands.in<float>(states.view());
    from.later = operands.in<float>(later.view());
    launch(context.queue, linear_backward_grid(frame, tasks), linear_d_queries_kernel<T>, frame, from, d_queries);
    for_columns(std::max(frame.key_width, frame.value_width), [&](auto columns) {
      launch(context.queue, linear_backward_grid(frame, frame.keys.rows * (frame.heads / frame.group)),
             linear_d_keys_kernel<columns(), T>, frame, from, d_keys, d_values);
    });
  }
  operands.finish();
}

}  // namespace

void linear_attention_backward(Context& context, const LinearAttentionBackward& call) {
  for_storage(call.queries.type(), [&]<class T>(T) { run_linear_attention_backward<T>(context, call); });
}

}  // namespace heed::cuda
