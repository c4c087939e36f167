// Attention for everything that its contract allows, in f32: a warp for each query and head. Lanes are keys while
// scores are computed, and columns while values are summed.
#include "heed_cuda/device/launch.h"
#include "heed_cuda/kernels/attention/attention.h"
#include "heed_cuda/kernels/attention/attention_paths.h"

namespace heed::cuda {
namespace {

constexpr int kForwardWarps = 4;

template <class T, class M>
struct ForwardOperands {
  Matrix<const T> queries;
  CachedRows<M> keys, values;
  TokenRows tokens;
};

// The shared memory of a warp.
struct ForwardShared {
  float *query, *weights;
  int64_t* rows;

  __host__ __device__ static int64_t bytes(const AttentionFrame& frame) {
    return kKeyBlock * int64_t{sizeof(int64_t) + sizeof(float)} + round_up<int64_t>(frame.key_width, 4) * 4;
  }
  __device__ ForwardShared(unsigned char* memory, const AttentionFrame& frame) {
    rows = reinterpret_cast<int64_t*>(memory + (threadIdx.x / kWarp) * bytes(frame));
    weights = reinterpret_cast<float*>(rows + kKeyBlock);
    query = weights + kKeyBlock;
  }
};

// What some keys give a query: sum = the sum of e^(s - largest), columns = that of e^(s - largest) v, of N columns a
// lane.
template <int N>
struct Attended {
  float largest = -INFINITY, sum = 0.0F;
  float columns[N] = {};

  // Adds what the keys of the next split give.
  __device__ void add(const Attended& next) {
    if (next.largest == -INFINITY) {
      return;
    }
    const float together = fmaxf(largest, next.largest);
    const float a = largest == -INFINITY ? 0.0F : expf(largest - together), b = expf(next.largest - together);
    sum = fmaf(sum, a, next.sum * b);
    HEED_UNROLL
    for (int n = 0; n < N; ++n) {
      columns[n] = fmaf(columns[n], a, next.columns[n] * b);
    }
    largest = together;
  }
};

// The keys of a split that a query sees, and those before them in the first one's block.
struct SplitKeys {
  int64_t first, end;

  __device__ SplitKeys(const SeenKeys& seen, int64_t split)
      : first(max(split * kKeySplit, seen.begin / kKeyBlock * kKeyBlock)),
        end(min((split + 1) * kKeySplit, seen.end)) {}
};

template <int N, class T, class M>
__device__ Attended<N> attend(const AttentionFrame& frame, const ForwardOperands<T, M>& from, const TokenPlace& query,
                              int head, const SeenKeys& seen, const SplitKeys& keys, const ForwardShared& own) {
  const int lane = static_cast<int>(threadIdx.x % kWarp), key_head = head / frame.group;
  const int64_t key_column = int64_t{key_head} * frame.key_width, value_column = int64_t{key_head} * frame.value_width;
  const RowRandom draws = draws_of(frame, query.row, head);
  Attended<N> result;
  for (int64_t block = keys.first; block < keys.end; block += kKeyBlock) {
    float scores[2], scales[2] = {1.0F, 1.0F};
    HEED_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int64_t number = block + half * kWarp + lane, key = seen.key(number);
      scores[half] = -INFINITY;
      if (number >= seen.begin && number < keys.end && mask_shows(frame.mask, query, query.index, key)) {
        const int64_t row = from.tokens.row(query.sequence, key);
        own.rows[half * kWarp + lane] = row;
        float dot = dot_with(own.query, from.keys.rows.row(row) + key_column, frame.key_width);
        if (!from.keys.scales.empty()) {
          dot *= from.keys.scales(row, key_head);
          scales[half] = from.values.scales(row, key_head);
        }
        scores[half] = score_of(frame, dot, query.row, head, key - query.position());
      }
    }
    const float largest = fmaxf(result.largest, warp_max(fmaxf(scores[0], scores[1])));
    if (largest == -INFINITY) {
      continue;  // no key was seen yet
    }
    const float correction = result.largest == -INFINITY ? 0.0F : expf(result.largest - largest);
    float probabilities[2];
    HEED_UNROLL
    for (int half = 0; half < 2; ++half) {
      probabilities[half] = scores[half] == -INFINITY ? 0.0F : expf(scores[half] - largest);
      own.weights[half * kWarp + lane] =
          probabilities[half] * kept(frame, draws, block + half * kWarp + lane) * scales[half];
    }
    result.largest = largest;
    result.sum = fmaf(result.sum, correction, warp_sum(probabilities[0] + probabilities[1]));
    HEED_UNROLL
    for (int n = 0; n < N; ++n) {
      result.columns[n] *= correction;
    }
    __syncwarp();
    add_rows(
        kKeyBlock, [&](int i) { return own.weights[i]; },
        [&](int i) { return from.values.rows.row(own.rows[i]) + value_column; }, frame.value_width, lane,
        result.columns);
    __syncwarp();  // before the next block's weights
  }
  return result;
}

template <int N, class T>
__device__ void write_attended(const Attended<N>& attended, const AttentionFrame& frame, int64_t query_row, int head,
                               const Matrix<T>& output, const Matrix<float>& log_sum_exp) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const bool nothing = attended.largest == -INFINITY;
  write_row(attended.columns, nothing ? 0.0F : 1.0F / attended.sum, frame.value_width, lane,
            output.row(query_row) + int64_t{head} * frame.value_width);
  if (lane == 0 && !log_sum_exp.empty()) {
    log_sum_exp(query_row, head) = nothing ? -INFINITY : attended.largest + logf(attended.sum);
  }
}

template <int N, class T, class M>
__global__ void attention_kernel(AttentionFrame frame, ForwardOperands<T, M> from, Matrix<T> output,
                                 Matrix<float> log_sum_exp) {
  HEED_SHARED(memory);
  const ForwardShared own(memory, frame);
  const int64_t task = int64_t{blockIdx.x} * kForwardWarps + threadIdx.x / kWarp;
  if (task >= frame.queries.rows * frame.heads) {
    return;
  }
  const int lane = static_cast<int>(threadIdx.x % kWarp), head = static_cast<int>(task % frame.heads);
  const TokenPlace query = place_of(frame, frame.queries, task / frame.heads);
  load_row(from.queries.row(query.row) + int64_t{head} * frame.key_width, frame.key_width, lane, own.query);
  __syncwarp();
  const SeenKeys seen = keys_seen(frame.visibility, query.position(), query.keys);
  Attended<N> all;
  for (int64_t split = seen.begin / kKeySplit; split * kKeySplit < seen.end; ++split) {
    all.add(attend<N>(frame, from, query, head, seen, SplitKeys(seen, split), own));
  }
  write_attended(all, frame, query.row, head, output, log_sum_exp);
}

// The same with a warp for each split of a query's keys: for few queries with many keys. parts: a row for each warp
// with `largest`, `sum` and the columns.
template <int N, class T, class M>
__global__ void attention_parts_kernel(AttentionFrame frame, ForwardOperands<T, M> from, int64_t splits,
                                       Matrix<float> parts) {
  HEED_SHARED(memory);
  const ForwardShared own(memory, frame);
  const int64_t task = int64_t{blockIdx.x} * kForwardWarps + threadIdx.x / kWarp;
  if (task >= parts.rows) {
    return;
  }
  const int64_t split = task % splits;
  const int lane = static_cast<int>(threadIdx.x % kWarp), head = static_cast<int>(task / splits % frame.heads);
  const TokenPlace query = place_of(frame, frame.queries, task / splits / frame.heads);
  const SeenKeys seen = keys_seen(frame.visibility, query.position(), query.keys);
  const SplitKeys keys(seen, split);
  Attended<N> part;
  if (keys.first < keys.end) {
    load_row(from.queries.row(query.row) + int64_t{head} * frame.key_width, frame.key_width, lane, own.query);
    __syncwarp();
    part = attend<N>(frame, from, query, head, seen, keys, own);
  }
  if (lane == 0) {
    parts(task, 0) = part.largest;
    parts(task, 1) = part.sum;
  }
  write_row(part.columns, 1.0F, frame.value_width, lane, parts.row(task) + 2);
}

template <int N, class T>
__global__ void add_parts_kernel(AttentionFrame frame, int64_t splits, Matrix<const float> parts, Matrix<T> output,
                                 Matrix<float> log_sum_exp) {
  const int64_t task = int64_t{blockIdx.x} * kForwardWarps + threadIdx.x / kWarp;
  if (task >= frame.queries.rows * frame.heads) {
    return;
  }
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  Attended<N> all;
  for (int64_t split = 0; split < splits; ++split) {
    const float* const from = parts.row(task * splits + split);
    Attended<N> part{from[0], from[1]};
    if (part.largest != -INFINITY) {
      add_row(1.0F, from + 2, frame.value_width, lane, part.columns);
      all.add(part);
    }
  }
  write_attended(all, frame, task / frame.heads, static_cast<int>(task % frame.heads), output, log_sum_exp);
}

struct WeightOperands {
  Matrix<float> weights;
  const int64_t* first = nullptr;  // where each sequence's begin
  Matrix<float> mass;
};

// The probabilities that have a log_sum_exp, as `weights`, and their sums by distance.
template <class T, class M>
__global__ void attention_weights_kernel(AttentionFrame frame, ForwardOperands<T, M> from,
                                         Matrix<const float> log_sum_exp, WeightOperands to) {
  HEED_SHARED(memory);
  const ForwardShared own(memory, frame);
  const int64_t task = int64_t{blockIdx.x} * kForwardWarps + threadIdx.x / kWarp;
  if (task >= frame.queries.rows * frame.heads) {
    return;
  }
  const int lane = static_cast<int>(threadIdx.x % kWarp), head = static_cast<int>(task % frame.heads);
  const int key_head = head / frame.group;
  const TokenPlace query = place_of(frame, frame.queries, task / frame.heads);
  const RowRandom draws = draws_of(frame, query.row, head);
  load_row(from.queries.row(query.row) + int64_t{head} * frame.key_width, frame.key_width, lane, own.query);
  float* const weights = to.weights.empty() ? nullptr
                                            : to.weights.data + to.first[query.sequence] +
                                                  (head * query.queries + query.index) * query.keys;
  DistanceRow mass{to.mass.empty() ? nullptr : to.mass.row(query.row) + head * frame.distances};
  for (int64_t key = lane; weights != nullptr && key < query.keys; key += kWarp) {
    weights[key] = 0.0F;
  }
  mass.clear(frame, lane);
  __syncwarp();
  const float normalizer = log_sum_exp(query.row, head);
  const SeenKeys seen = keys_seen(frame.visibility, query.position(), query.keys);
  for (int64_t block = seen.begin / kWarp * kWarp; block < seen.end; block += kWarp) {
    const int64_t number = block + lane, key = seen.key(number);
    if (number < seen.begin || number >= seen.end || !mask_shows(frame.mask, query, query.index, key)) {
      continue;
    }
    const int64_t row = from.tokens.row(query.sequence, key), distance = key - query.position();
    float dot = dot_with(own.query, from.keys.rows.row(row) + int64_t{key_head} * frame.key_width, frame.key_width);
    if (!from.keys.scales.empty()) {
      dot *= from.keys.scales(row, key_head);
    }
    const float probability = expf(score_of(frame, dot, query.row, head, distance) - normalizer);
    if (weights != nullptr) {
      weights[key] = probability;
    }
    if (mass.row != nullptr) {
      mass.add(frame, distance, probability * kept(frame, draws, number));
    }
  }
  mass.write_ends(frame, lane);
}

Grid grid_of_warps(int64_t count, int64_t shared_of_warp) {
  return grid_of_blocks(ceil_div<int64_t>(count, kForwardWarps), kForwardWarps * kWarp, kForwardWarps * shared_of_warp);
}

// Splits a query's keys where there are few queries for so many keys. It changes no bit.
int64_t splits_of(const AttentionFrame& frame) {
  constexpr int64_t kManyWarps = 4096;
  const int64_t keys = ceil_div(frame.keys.max_length, frame.visibility.stride);  // of a class
  return frame.queries.rows * frame.heads >= kManyWarps ? 1 : std::max<int64_t>(1, ceil_div<int64_t>(keys, kKeySplit));
}

template <class T, class M>
void attention_by_warps(Context& context, const AttentionFrame& frame, const ForwardOperands<T, M>& from,
                        const Matrix<T>& output, const Matrix<float>& log_sum_exp) {
  const int64_t tasks = frame.queries.rows * frame.heads, splits = splits_of(frame);
  for_columns(frame.value_width, [&](auto columns) {
    constexpr int N = columns();
    if (splits == 1) {
      launch(context.queue, grid_of_warps(tasks, ForwardShared::bytes(frame)), attention_kernel<N, T, M>, frame, from,
             output, log_sum_exp);
      return;
    }
    const Tensor memory({tasks * splits, 2 + frame.value_width}, DType::f32, context.arena);
    const auto parts = Operands(context).out<float>(memory.view());
    launch(context.queue, grid_of_warps(parts.rows, ForwardShared::bytes(frame)), attention_parts_kernel<N, T, M>,
           frame, from, splits, parts);
    launch(context.queue, grid_of_warps(tasks, 0), add_parts_kernel<N, T>, frame, splits, to_read(parts), output,
           log_sum_exp);
  });
}

// Whether the matrix units took the call.
template <class T, class M>
bool took_tiles(Context& context, const AttentionForward& call, const AttentionFrame& frame,
                const ForwardOperands<T, M>& from, const Matrix<T>& output, const Matrix<float>& log_sum_exp) {
  if constexpr (std::is_same_v<T, bf16> && std::is_same_v<M, bf16>) {
    const AttentionRows rows{from.queries, from.keys.rows, from.values.rows, from.tokens, output, log_sum_exp};
    if (takes_tiles(call.settings, call.queries, call.memory)) {
      attention_by_tiles(context, frame, rows);
      return true;
    }
  }
  return false;
}

template <class T, class M>
void run_attention(Context& context, const AttentionForward& call) {
  Operands operands(context);
  const AttentionFrame frame = frame_of(context, operands, call.settings, *call.segments, call.memory);
  const ForwardOperands<T, M> from{operands.in<T>(call.queries),
                                   cached_rows<M>(operands, call.memory.keys, call.memory.scales.keys),
                                   cached_rows<M>(operands, call.memory.values, call.memory.scales.values),
                                   token_rows(context, operands, *call.memory.segments, call.memory.table)};
  const auto output = operands.out<T>(call.output);
  auto log_sum_exp = operands.out<float>(call.log_sum_exp);
  const WeightOperands weights{
      operands.out<float>(call.weights),
      call.weights.empty() ? nullptr
                           : weight_offsets(context, call.settings.heads, *call.segments, *call.memory.segments),
      operands.out<float>(call.mass)};
  const bool weighs = !call.weights.empty() || !call.mass.empty();
  const int64_t tasks = frame.queries.rows * frame.heads;
  Tensor of_weights;
  if (weighs && log_sum_exp.empty()) {
    of_weights = Tensor({std::max<int64_t>(1, frame.queries.rows), frame.heads}, DType::f32, context.arena);
    log_sum_exp = operands.out<float>(of_weights.view());
  }
  if (tasks > 0 && !took_tiles(context, call, frame, from, output, log_sum_exp)) {
    attention_by_warps(context, frame, from, output, log_sum_exp);
  }
  if (tasks > 0 && weighs) {
    launch(context.queue, grid_of_warps(tasks, ForwardShared::bytes(frame)), attention_weights_kernel<T, M>, frame,
           from, to_read(log_sum_exp), weights);
  }
  operands.finish();
}

}  // namespace

void attention(Context& context, const AttentionForward& call) {
  const DType cache = call.memory.keys.type();
  for_storage(call.queries.type(), [&]<class T>(T) {
    if (cache == DType::i8) {
      run_attention<T, int8_t>(context, call);
    } else if (cache == DType::bf16) {
      run_attention<T, bf16>(context, call);
    } else {
      run_attention<T, T>(context, call);
    }
  });
}

}  // namespace heed::cuda
