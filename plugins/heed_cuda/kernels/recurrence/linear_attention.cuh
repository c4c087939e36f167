// What linear attention's kernels share: features, and sums of outer products over chunks of kLinearChunk tokens, which
// begin at multiples of that whatever the batch, so that cached decoding changes no bit.
#pragma once

#include "heed_cuda/device/launch.h"
#include "heed_cuda/kernels/attention/attention_frame.h"
#include "kernels/calls/linear_attention.h"

namespace heed::cuda {

__device__ inline float feature_of(LinearFeature kind, float x) {
  constexpr auto kMost = static_cast<float>(kMostExponent);
  if (kind == LinearFeature::exp) {
    return expf(x < -kMost ? -kMost : x > kMost ? kMost : x);  // NaN stays
  }
  const float e = expf(x);
  return x > 0.0F ? x + 1.0F : e < static_cast<float>(kLeastElu) ? static_cast<float>(kLeastElu) : e;
}
__device__ inline float slope_of(LinearFeature kind, float x) {
  if (kind == LinearFeature::exp) {
    return fabsf(x) < static_cast<float>(kMostExponent) ? expf(x) : 0.0F;
  }
  const float e = expf(x);
  return x > 0.0F ? 1.0F : e > static_cast<float>(kLeastElu) ? e : 0.0F;
}

// The settings of a call, and what follows from the shapes.
struct LinearFrame {
  DeviceSegments queries, keys;
  int heads = 1, group = 1;
  int key_width = 1, value_width = 1;
  Visibility::Reach reach = Visibility::Reach::full;
  LinearFeature feature = LinearFeature::elu;
  const int64_t* first_slots = nullptr;  // of each sequence, among those of states
  Matrix<const float> sums = {};         // of LinearStates, whose slots and tokens these are
  Matrix<const int32_t> slots = {}, tokens = {};

  __device__ int key_heads() const { return heads / group; }
  __device__ bool causal() const { return reach == Visibility::Reach::causal; }
  __device__ int64_t summed(int64_t sequence) const { return tokens.empty() ? 0 : tokens(0, sequence); }
  __device__ TokenPlace place(const DeviceSegments& segments, int64_t row) const {
    const int64_t s = sequence_of(segments.offsets, segments.count, row);
    return sequence(s, row, row - segments.offsets[s]);
  }
  __device__ TokenPlace sequence(int64_t s, int64_t row, int64_t index) const {
    return {s, row, index, queries.offsets[s + 1] - queries.offsets[s], keys.offsets[s + 1] - keys.offsets[s]};
  }
  __device__ static int64_t first_chunk(const TokenPlace& of) { return max(int64_t{0}, of.offset()) / kLinearChunk; }
  // The row of a chunk's state, for a head of keys: the sums of all chunks before it, or if not causal, of all tokens.
  __device__ int64_t state_row(const TokenPlace& of, int64_t chunk, int key_head) const {
    const int64_t slot = first_slots[of.sequence] + (causal() ? chunk - first_chunk(of) : 0);
    return slot * key_heads() + key_head;
  }
};

// How many states a sequence has.
inline int64_t state_slots(Visibility::Reach reach, int64_t queries, int64_t keys) {
  const int64_t first = std::max<int64_t>(0, keys - queries) / kLinearChunk;
  return reach == Visibility::Reach::full ? 1 : std::max<int64_t>(0, ceil_div(keys, kLinearChunk) - first);
}

// The rows of a head's keys and values. The column after the values is one, and sums the divisor.
template <class T>
struct LinearRows {
  Matrix<const T> keys, values;
  TokenRows tokens;

  __device__ const T* key(const LinearFrame& frame, int64_t row, int key_head) const {
    return keys.row(row) + int64_t{key_head} * frame.key_width;
  }
  __device__ const T* value(const LinearFrame& frame, int64_t row, int key_head) const {
    return values.row(row) + int64_t{key_head} * frame.value_width;
  }
};

constexpr int kStateTile = 32, kStateThreads = 128;
constexpr int kStateElements = kStateTile * kStateTile / kStateThreads;  // of a thread
constexpr int64_t kStateSharedBytes = 2 * kLinearChunk * kStateTile * int64_t{sizeof(float)};

// A tile of a sum of left^T right over a chunk, where left(token, c) and right(token, v) are its rows, zero beyond
// their widths. A thread has columns threadIdx.x % 32, and rows threadIdx.x / 32 + 4 n.
template <class Left, class Right>
__device__ inline void sum_chunk(int64_t tokens, const Left& left, const Right& right, float* shared,
                                 float (&sums)[kStateElements]) {
  float* const rights = shared + kLinearChunk * kStateTile;
  for (int i = static_cast<int>(threadIdx.x); i < kLinearChunk * kStateTile; i += kStateThreads) {
    const int64_t token = i / kStateTile;
    shared[i] = token < tokens ? left(token, i % kStateTile) : 0.0F;
    rights[i] = token < tokens ? right(token, i % kStateTile) : 0.0F;
  }
  __syncthreads();
  const int row = static_cast<int>(threadIdx.x) / kStateTile, column = static_cast<int>(threadIdx.x) % kStateTile;
  for (int token = 0; token < static_cast<int>(tokens); ++token) {
    const float x = rights[token * kStateTile + column];
    HEED_UNROLL
    for (int n = 0; n < kStateElements; ++n) {
      sums[n] = fmaf(shared[token * kStateTile + row + n * (kStateThreads / kStateTile)], x, sums[n]);
    }
  }
  __syncthreads();
}

// body(n, c, v) for a thread's elements of a block's tile.
template <class Body>
__device__ inline void for_state_elements(const LinearFrame& frame, const Body& body) {
  const int64_t v = int64_t{blockIdx.z} * kStateTile + threadIdx.x % kStateTile;
  HEED_UNROLL
  for (int n = 0; n < kStateElements; ++n) {
    const int64_t c = int64_t{blockIdx.y} * kStateTile + threadIdx.x / kStateTile + n * (kStateThreads / kStateTile);
    if (c < frame.key_width && v <= frame.value_width) {
      body(n, c, v);
    }
  }
}

// The sum of phi(k) [v, 1]^T over a chunk of the cache, added to `state`.
template <class T>
__device__ inline void add_keys(const LinearFrame& frame, const LinearRows<T>& from, int64_t sequence, int key_head,
                                int64_t first, int64_t tokens, float* shared, float (&state)[kStateElements]) {
  const int64_t first_c = int64_t{blockIdx.y} * kStateTile, first_v = int64_t{blockIdx.z} * kStateTile;
  float sums[kStateElements] = {};
  sum_chunk(
      tokens,
      [&](int64_t token, int64_t c) {
        const int64_t row = from.tokens.row(sequence, first + token);
        return first_c + c < frame.key_width
                   ? feature_of(frame.feature, to_float(from.key(frame, row, key_head)[first_c + c]))
                   : 0.0F;
      },
      [&](int64_t token, int64_t v) {
        const int64_t row = from.tokens.row(sequence, first + token);
        return first_v + v < frame.value_width ? to_float(from.value(frame, row, key_head)[first_v + v]) : 1.0F;
      },
      shared, sums);
  HEED_UNROLL
  for (int n = 0; n < kStateElements; ++n) {
    state[n] += sums[n];
  }
}

// What LinearStates know, or zeros.
__device__ inline void begin_state(const LinearFrame& frame, int64_t sequence, int key_head,
                                   float (&state)[kStateElements]) {
  for_state_elements(frame, [&](int n, int64_t c, int64_t v) {
    state[n] = frame.summed(sequence) == 0
                   ? 0.0F
                   : frame.sums(frame.slots(0, sequence),
                                (int64_t{key_head} * frame.key_width + c) * (frame.value_width + 1) + v);
  });
}

__device__ inline void write_state(const LinearFrame& frame, const float (&state)[kStateElements], float* to) {
  for_state_elements(frame, [&](int n, int64_t c, int64_t v) { to[c * (frame.value_width + 1) + v] = state[n]; });
}

// The states of a batch, in order of tokens. A block for a tile of those of a sequence and head of keys.
template <class T>
__global__ void linear_states_kernel(LinearFrame frame, LinearRows<T> from, Matrix<float> states) {
  HEED_SHARED(memory);
  float* const shared = reinterpret_cast<float*>(memory);
  const int key_head = static_cast<int>(blockIdx.x % frame.key_heads());
  const TokenPlace of = frame.sequence(blockIdx.x / frame.key_heads(), 0, 0);
  float state[kStateElements] = {};
  begin_state(frame, of.sequence, key_head, state);
  for (int64_t first = frame.summed(of.sequence); first < of.keys; first += kLinearChunk) {
    const int64_t chunk = first / kLinearChunk;
    if (frame.causal() && chunk >= LinearFrame::first_chunk(of)) {
      write_state(frame, state, states.row(frame.state_row(of, chunk, key_head)));
    }
    add_keys(frame, from, of.sequence, key_head, first, min(int64_t{kLinearChunk}, of.keys - first), shared, state);
  }
  if (!frame.causal()) {
    write_state(frame, state, states.row(frame.state_row(of, 0, key_head)));
  }
}

LinearFrame linear_frame_of(Context& context, Operands& operands, const LinearAttentionSettings& settings,
                            const Segments& queries, const ConstKeyValueView& memory);

inline Grid state_grid(const LinearFrame& frame) {
  return {dim3(static_cast<unsigned>(frame.keys.count * (frame.heads / frame.group)),
               static_cast<unsigned>(ceil_div(frame.key_width, kStateTile)),
               static_cast<unsigned>(ceil_div(frame.value_width + 1, kStateTile))),
          dim3(kStateThreads), kStateSharedBytes};
}

// The states that queries of a call need, computed now.
template <class T>
Tensor linear_states(Context& context, Operands& operands, const LinearFrame& frame, const LinearRows<T>& from,
                     int64_t slots) {
  Tensor states(
      {std::max<int64_t>(1, slots) * (frame.heads / frame.group), int64_t{frame.key_width} * (frame.value_width + 1)},
      DType::f32, context.arena);
  if (frame.keys.rows > 0) {
    launch(context.queue, state_grid(frame), linear_states_kernel<T>, frame, from, operands.out<float>(states.view()));
  }
  return states;
}

// All slots that the sequences' states take.
int64_t all_state_slots(Visibility::Reach reach, const Segments& queries, const Segments& keys);

}  // namespace heed::cuda
