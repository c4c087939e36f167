// Linear attention: states of whole chunks by blocks, then a warp for each query and head.
#include "heed_cuda/device/launch.h"
#include "heed_cuda/kernels/recurrence/linear_attention.cuh"
#include "heed_cuda/kernels/recurrence/recurrence.h"

namespace heed::cuda {
namespace {

constexpr int kLinearWarps = 4;

// The shared memory of a warp: phi(q), and a number for each key of a chunk.
struct LinearShared {
  float *feature, *scores;

  __host__ __device__ static int64_t floats(const LinearFrame& frame) {
    return round_up<int64_t>(frame.key_width, 4) + kLinearChunk;
  }
  __device__ LinearShared(unsigned char* memory, const LinearFrame& frame) {
    scores = reinterpret_cast<float*>(memory) + (threadIdx.x / kWarp) * floats(frame);
    feature = scores + kLinearChunk;
  }
};

// phi(k) . own.feature
template <class T>
__device__ float feature_dot(const LinearFrame& frame, const float* feature, const T* key) {
  float sum = 0.0F;
  for (int c = 0; c < frame.key_width; ++c) {
    sum = fmaf(feature[c], feature_of(frame.feature, to_float(key[c])), sum);
  }
  return sum;
}

template <class T>
__device__ void load_features(const LinearFrame& frame, const Matrix<const T>& queries, int64_t row, int head,
                              float* to) {
  const T* const q = queries.row(row) + int64_t{head} * frame.key_width;
  for (int c = static_cast<int>(threadIdx.x % kWarp); c < frame.key_width; c += kWarp) {
    to[c] = feature_of(frame.feature, to_float(q[c]));
  }
}

template <int N, class T>
__global__ void linear_attention_kernel(LinearFrame frame, Matrix<const T> queries, LinearRows<T> from,
                                        Matrix<const float> states, Matrix<T> output, Matrix<float> divisors) {
  HEED_SHARED(memory);
  const LinearShared own(memory, frame);
  const int64_t task = int64_t{blockIdx.x} * kLinearWarps + threadIdx.x / kWarp;
  if (task >= frame.queries.rows * frame.heads) {
    return;
  }
  const int lane = static_cast<int>(threadIdx.x % kWarp), head = static_cast<int>(task % frame.heads);
  const int key_head = head / frame.group;
  const TokenPlace query = frame.place(frame.queries, task / frame.heads);
  load_features(frame, queries, query.row, head, own.feature);
  __syncwarp();
  float sums[N] = {}, divisor = 0.0F;
  const int64_t chunk = max(int64_t{0}, query.position()) / kLinearChunk;
  if (query.keys > 0) {
    const float* const state = states.row(frame.state_row(query, chunk, key_head));
    const int64_t width = frame.value_width + 1;
    for (int c = 0; c < frame.key_width; ++c) {
      add_row(own.feature[c], state + c * width, frame.value_width, lane, sums);
    }
    for (int c = lane; c < frame.key_width; c += kWarp) {
      divisor = fmaf(own.feature[c], state[c * width + frame.value_width], divisor);
    }
  }
  if (frame.causal()) {
    const int64_t first = chunk * kLinearChunk;
    const int count = static_cast<int>(query.position() - first + 1);
    for (int j = lane; j < count; j += kWarp) {
      const int64_t row = from.tokens.row(query.sequence, first + j);
      own.scores[j] = feature_dot(frame, own.feature, from.key(frame, row, key_head));
      divisor += own.scores[j];
    }
    __syncwarp();
    for (int j = 0; j < count; ++j) {
      const int64_t row = from.tokens.row(query.sequence, first + j);
      add_row(own.scores[j], from.value(frame, row, key_head), frame.value_width, lane, sums);
    }
  }
  divisor = warp_sum(divisor);
  write_row(sums, 1.0F / divisor, frame.value_width, lane, output.row(query.row) + int64_t{head} * frame.value_width);
  if (lane == 0 && !divisors.empty()) {
    divisors(query.row, head) = divisor;
  }
}

// weights = (phi(q) . phi(k)) / divisor, `first` being where each sequence's begin.
template <class T>
__global__ void linear_weights_kernel(LinearFrame frame, Matrix<const T> queries, LinearRows<T> from,
                                      Matrix<const float> divisors, const int64_t* first, Matrix<float> weights) {
  HEED_SHARED(memory);
  const LinearShared own(memory, frame);
  const int64_t task = int64_t{blockIdx.x} * kLinearWarps + threadIdx.x / kWarp;
  if (task >= frame.queries.rows * frame.heads) {
    return;
  }
  const int lane = static_cast<int>(threadIdx.x % kWarp), head = static_cast<int>(task % frame.heads);
  const TokenPlace query = frame.place(frame.queries, task / frame.heads);
  load_features(frame, queries, query.row, head, own.feature);
  __syncwarp();
  float* const to = weights.data + first[query.sequence] + (head * query.queries + query.index) * query.keys;
  for (int64_t key = lane; key < query.keys; key += kWarp) {
    const int64_t row = from.tokens.row(query.sequence, key);
    const bool sees = !frame.causal() || key <= query.position();
    to[key] =
        sees ? feature_dot(frame, own.feature, from.key(frame, row, head / frame.group)) / divisors(query.row, head)
             : 0.0F;
  }
}

// A tile of the states of a sequence and head of keys: all whole chunks that it lacks.
template <class T>
__global__ void fold_kernel(LinearFrame frame, LinearRows<T> from, Matrix<float> sums) {
  HEED_SHARED(memory);
  const int key_head = static_cast<int>(blockIdx.x % frame.key_heads());
  const int64_t s = blockIdx.x / frame.key_heads();
  const int64_t end = (frame.keys.offsets[s + 1] - frame.keys.offsets[s]) / kLinearChunk * kLinearChunk;
  const int64_t begin = frame.summed(s);
  if (begin >= end) {
    return;
  }
  float state[kStateElements] = {};
  begin_state(frame, s, key_head, state);
  for (int64_t first = begin; first < end; first += kLinearChunk) {
    add_keys(frame, from, s, key_head, first, kLinearChunk, reinterpret_cast<float*>(memory), state);
  }
  write_state(frame, state,
              sums.row(frame.slots(0, s)) + int64_t{key_head} * frame.key_width * (frame.value_width + 1));
}

template <class T>
LinearRows<T> linear_rows(Context& context, Operands& operands, const ConstKeyValueView& memory) {
  return {operands.in<T>(memory.keys), operands.in<T>(memory.values),
          token_rows(context, operands, *memory.segments, memory.table)};
}

template <class T>
void run_linear_attention(Context& context, const LinearAttentionForward& call) {
  Operands operands(context);
  const LinearFrame frame = linear_frame_of(context, operands, call.settings, *call.segments, call.memory);
  const auto from = linear_rows<T>(context, operands, call.memory);
  const auto queries = operands.in<T>(call.queries);
  const auto output = operands.out<T>(call.output);
  auto divisors = operands.out<float>(call.divisors);
  const auto weights = operands.out<float>(call.weights);
  Tensor of_divisors;
  if (divisors.empty() && !weights.empty()) {
    of_divisors = Tensor({std::max<int64_t>(1, frame.queries.rows), frame.heads}, DType::f32, context.arena);
    divisors = operands.out<float>(of_divisors.view());
  }
  const int64_t tasks = frame.queries.rows * frame.heads;
  if (tasks > 0) {
    const Tensor states = linear_states(context, operands, frame, from,
                                        all_state_slots(call.settings.reach, *call.segments, *call.memory.segments));
    const Grid grid = grid_of_blocks(ceil_div<int64_t>(tasks, kLinearWarps), kLinearWarps * kWarp,
                                     kLinearWarps * LinearShared::floats(frame) * int64_t{sizeof(float)});
    for_columns(frame.value_width, [&](auto columns) {
      launch(context.queue, grid, linear_attention_kernel<columns(), T>, frame, queries, from,
             operands.in<float>(states.view()), output, divisors);
    });
    if (!weights.empty()) {
      launch(context.queue, grid, linear_weights_kernel<T>, frame, queries, from, to_read(divisors),
             weight_offsets(context, frame.heads, *call.segments, *call.memory.segments), weights);
    }
  }
  operands.finish();
}

template <class T>
void run_fold(Context& context, const LinearAttentionFold& call) {
  Operands operands(context);
  const LinearAttentionSettings settings{.heads = call.key_value_heads,
                                         .key_value_heads = call.key_value_heads,
                                         .reach = Visibility::Reach::full,
                                         .feature = call.feature};
  LinearFrame frame = linear_frame_of(context, operands, settings, *call.memory.segments, call.memory);
  const auto sums = operands.in_out<float>(call.memory.states.sums);
  frame.sums = to_read(sums);
  if (frame.keys.rows > 0) {
    launch(context.queue, state_grid(frame), fold_kernel<T>, frame, linear_rows<T>(context, operands, call.memory),
           sums);
  }
  operands.finish();
}

}  // namespace

int64_t all_state_slots(Visibility::Reach reach, const Segments& queries, const Segments& keys) {
  int64_t slots = 0;
  for (int64_t s = 0; s < queries.count(); ++s) {
    slots += state_slots(reach, queries.length(s), keys.length(s));
  }
  return slots;
}

LinearFrame linear_frame_of(Context& context, Operands& operands, const LinearAttentionSettings& settings,
                            const Segments& queries, const ConstKeyValueView& memory) {
  std::vector<int64_t> first_slots{0};
  for (int64_t s = 0; s < queries.count(); ++s) {
    first_slots.push_back(first_slots.back() +
                          state_slots(settings.reach, queries.length(s), memory.segments->length(s)));
  }
  return {.queries = context.segments(queries),
          .keys = context.segments(*memory.segments),
          .heads = static_cast<int>(settings.heads),
          .group = static_cast<int>(settings.heads / settings.key_value_heads),
          .key_width = static_cast<int>(memory.keys.columns() / settings.key_value_heads),
          .value_width = static_cast<int>(memory.values.columns() / settings.key_value_heads),
          .reach = settings.reach,
          .feature = settings.feature,
          .first_slots = context.uploaded<int64_t>(first_slots),
          .sums = operands.in<float>(memory.states.sums),
          .slots = operands.in<int32_t>(memory.states.slots),
          .tokens = operands.in<int32_t>(memory.states.tokens)};
}

void linear_attention(Context& context, const LinearAttentionForward& call) {
  for_storage(call.queries.type(), [&]<class T>(T) { run_linear_attention<T>(context, call); });
}

void fold_linear_attention(Context& context, const LinearAttentionFold& call) {
  for_storage(call.memory.keys.type(), [&]<class T>(T) { run_fold<T>(context, call); });
}

}  // namespace heed::cuda
