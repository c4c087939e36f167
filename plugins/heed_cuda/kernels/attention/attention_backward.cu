// The gradients of attention for everything that its contract allows, in f32: a warp for each query and head, and one
// for each key and its head, which go through the pairs that see each other on their own. Lanes are the other side's
// tokens while scores are rebuilt, and columns while gradients are summed.
#include "heed_cuda/device/launch.h"
#include "heed_cuda/kernels/attention/attention.h"
#include "heed_cuda/kernels/attention/attention_paths.h"

namespace heed::cuda {
namespace {

constexpr int kBackwardWarps = 4;

template <class T>
struct BackwardOperands {
  Matrix<const T> queries, keys, values, d_output;
  Matrix<const float> log_sum_exp, deltas;  // deltas: D
  Matrix<const float> d_mass;
};

// The shared memory of a warp: a row of keys' width and one of values', and two numbers of each token of a block.
struct BackwardShared {
  float *key_row, *value_row, *weights, *d_scores;

  __host__ __device__ static int64_t floats(const AttentionFrame& frame) {
    return round_up<int64_t>(frame.key_width, 4) + round_up<int64_t>(frame.value_width, 4) + 2 * kKeyBlock;
  }
  __device__ BackwardShared(unsigned char* memory, const AttentionFrame& frame) {
    key_row = reinterpret_cast<float*>(memory) + (threadIdx.x / kWarp) * floats(frame);
    value_row = key_row + round_up(frame.key_width, 4);
    weights = value_row + round_up(frame.value_width, 4);
    d_scores = weights + kKeyBlock;
  }
};

// A pair of a query and the key of this number in its class.
struct AttentionPair {
  int64_t query_row, distance, number;
  int head;
};
struct PairGradient {
  float weight, d_score;  // dropout(P), d_S
};

__device__ PairGradient gradient_of(const AttentionFrame& frame, const AttentionPair& pair, float dot, float value_dot,
                                    float log_sum_exp, float delta, const Matrix<const float>& d_mass) {
  const float score = score_of(frame, dot, pair.query_row, pair.head, pair.distance);
  const float probability = expf(score - log_sum_exp);
  const float factor = kept(frame, draws_of(frame, pair.query_row, pair.head), pair.number);
  float d_probability = value_dot;
  if (!d_mass.empty()) {
    d_probability += d_mass(pair.query_row, pair.head * frame.distances + distance_column(frame, pair.distance));
  }
  float d_score = probability * (factor * d_probability - delta);
  if (frame.cap > 0.0F) {
    d_score *= 1.0F - (score / frame.cap) * (score / frame.cap);
  }
  return {probability * factor, d_score};
}

// D = rowsum(d_output * output) of each query and head.
template <class T>
__global__ void deltas_kernel(AttentionFrame frame, Matrix<const T> output, Matrix<const T> d_output,
                              Matrix<float> deltas) {
  const int64_t task = int64_t{blockIdx.x} * kBackwardWarps + threadIdx.x / kWarp;
  if (task >= frame.queries.rows * frame.heads) {
    return;
  }
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const int64_t row = task / frame.heads, head = task % frame.heads, column = head * frame.value_width;
  float sum = 0.0F;
  for (int c = lane; c < frame.value_width; c += kWarp) {
    sum = fmaf(to_float(d_output(row, column + c)), to_float(output(row, column + c)), sum);
  }
  sum = warp_sum(sum);
  if (lane == 0) {
    deltas(row, head) = sum;
  }
}

// d_table, where there is one, has a row for each query.
template <int N, class T>
__global__ void d_queries_kernel(AttentionFrame frame, BackwardOperands<T> from, Matrix<T> d_queries,
                                 Matrix<float> d_table) {
  HEED_SHARED(memory);
  const BackwardShared own(memory, frame);
  const int64_t task = int64_t{blockIdx.x} * kBackwardWarps + threadIdx.x / kWarp;
  if (task >= frame.queries.rows * frame.heads) {
    return;
  }
  const int lane = static_cast<int>(threadIdx.x % kWarp), head = static_cast<int>(task % frame.heads);
  const int64_t key_column = int64_t{head / frame.group} * frame.key_width;
  const int64_t value_column = int64_t{head / frame.group} * frame.value_width;
  const TokenPlace query = place_of(frame, frame.queries, task / frame.heads);
  load_row(from.queries.row(query.row) + int64_t{head} * frame.key_width, frame.key_width, lane, own.key_row);
  load_row(from.d_output.row(query.row) + int64_t{head} * frame.value_width, frame.value_width, lane, own.value_row);
  DistanceRow table{d_table.empty() ? nullptr : d_table.row(query.row) + head * frame.distances, frame.factor};
  table.clear(frame, lane);
  __syncwarp();
  const float log_sum_exp = from.log_sum_exp(query.row, head), delta = from.deltas(query.row, head);
  const SeenKeys seen = keys_seen(frame.visibility, query.position(), query.keys);
  const int64_t first_row = frame.keys.offsets[query.sequence];
  float sums[N] = {};
  for (int64_t block = seen.begin / kKeyBlock * kKeyBlock; block < seen.end; block += kKeyBlock) {
    HEED_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int64_t number = block + half * kWarp + lane, key = seen.key(number), distance = key - query.position();
      float d_score = 0.0F;
      if (number >= seen.begin && number < seen.end && mask_shows(frame.mask, query, query.index, key)) {
        const float dot = dot_with(own.key_row, from.keys.row(first_row + key) + key_column, frame.key_width);
        const float value_dot =
            dot_with(own.value_row, from.values.row(first_row + key) + value_column, frame.value_width);
        d_score =
            gradient_of(frame, {query.row, distance, number, head}, dot, value_dot, log_sum_exp, delta, from.d_mass)
                .d_score;
        table.add(frame, distance, d_score);
      }
      own.d_scores[half * kWarp + lane] = d_score;
    }
    __syncwarp();
    add_rows(
        kKeyBlock, [&](int i) { return own.d_scores[i]; },
        [&](int i) { return from.keys.row(first_row + seen.key(block + i)) + key_column; }, frame.key_width, lane,
        sums);
    __syncwarp();
  }
  write_row(sums, frame.scale, frame.key_width, lane, d_queries.row(query.row) + int64_t{head} * frame.key_width);
  table.write_ends(frame, lane);
}

template <int N, class T>
__global__ void d_keys_kernel(AttentionFrame frame, BackwardOperands<T> from, Matrix<T> d_keys, Matrix<T> d_values) {
  HEED_SHARED(memory);
  const BackwardShared own(memory, frame);
  const int64_t task = int64_t{blockIdx.x} * kBackwardWarps + threadIdx.x / kWarp,
                key_heads = frame.heads / frame.group;
  if (task >= frame.keys.rows * key_heads) {
    return;
  }
  const int lane = static_cast<int>(threadIdx.x % kWarp), key_head = static_cast<int>(task % key_heads);
  const int64_t key_column = int64_t{key_head} * frame.key_width;
  const int64_t value_column = int64_t{key_head} * frame.value_width;
  const TokenPlace key = place_of(frame, frame.keys, task / key_heads);
  load_row(from.keys.row(key.row) + key_column, frame.key_width, lane, own.key_row);
  load_row(from.values.row(key.row) + value_column, frame.value_width, lane, own.value_row);
  __syncwarp();
  const SeeingQueries seeing = queries_seeing(frame.visibility, key);
  const int64_t number = key.index / frame.visibility.stride;
  const int64_t first_index = seeing.first - key.offset(), first_row = frame.queries.offsets[key.sequence];
  float key_sums[N] = {}, value_sums[N] = {};
  for (int head = key_head * frame.group; head < (key_head + 1) * frame.group; ++head) {
    for (int64_t block = 0; block < seeing.count; block += kKeyBlock) {
      HEED_UNROLL
      for (int half = 0; half < 2; ++half) {
        const int64_t at = block + half * kWarp + lane, index = first_index + at * seeing.stride;
        PairGradient pair{0.0F, 0.0F};
        if (at < seeing.count && mask_shows(frame.mask, key, index, key.index)) {
          const int64_t row = first_row + index;
          const float dot =
              dot_with(own.key_row, from.queries.row(row) + int64_t{head} * frame.key_width, frame.key_width);
          const float value_dot =
              dot_with(own.value_row, from.d_output.row(row) + int64_t{head} * frame.value_width, frame.value_width);
          pair = gradient_of(frame, {row, key.index - key.offset() - index, number, head}, dot, value_dot,
                             from.log_sum_exp(row, head), from.deltas(row, head), from.d_mass);
        }
        own.weights[half * kWarp + lane] = pair.weight;
        own.d_scores[half * kWarp + lane] = pair.d_score;
      }
      __syncwarp();
      const auto query_row = [&](int i) { return first_row + first_index + (block + i) * seeing.stride; };
      add_rows(
          kKeyBlock, [&](int i) { return own.weights[i]; },
          [&](int i) { return from.d_output.row(query_row(i)) + int64_t{head} * frame.value_width; }, frame.value_width,
          lane, value_sums);
      add_rows(
          kKeyBlock, [&](int i) { return own.d_scores[i]; },
          [&](int i) { return from.queries.row(query_row(i)) + int64_t{head} * frame.key_width; }, frame.key_width,
          lane, key_sums);
      __syncwarp();
    }
  }
  write_row(key_sums, frame.scale, frame.key_width, lane, d_keys.row(key.row) + key_column);
  write_row(value_sums, 1.0F, frame.value_width, lane, d_values.row(key.row) + value_column);
}

constexpr int kTableThreads = 64;

// The gradient of a table of heads: a block for a sequence and head, which goes through its queries. A thread has each
// 64th distance.
template <class T>
__global__ void d_head_table_kernel(AttentionFrame frame, BackwardOperands<T> from, Matrix<float> d_table) {
  HEED_SHARED(memory);
  float* const ends = reinterpret_cast<float*>(memory);  // [2, threads]
  const int64_t s = blockIdx.x / frame.heads;
  const int thread = static_cast<int>(threadIdx.x), head = static_cast<int>(blockIdx.x % frame.heads);
  float* const table = d_table.row(blockIdx.x);
  for (int64_t column = thread; column < frame.distances; column += kTableThreads) {
    table[column] = 0.0F;
  }
  __syncthreads();
  float below = 0.0F, above = 0.0F;
  const int64_t first_query = frame.queries.offsets[s], first_key = frame.keys.offsets[s];
  const int64_t queries = frame.queries.offsets[s + 1] - first_query, keys = frame.keys.offsets[s + 1] - first_key;
  for (int64_t index = 0; index < queries; ++index) {
    const TokenPlace query{s, first_query + index, index, queries, keys};
    const SeenKeys seen = keys_seen(frame.visibility, query.position(), keys);
    const T* const q = from.queries.row(query.row) + int64_t{head} * frame.key_width;
    const T* const d_out = from.d_output.row(query.row) + int64_t{head} * frame.value_width;
    // The distance of key `number` is stride * (number - own): each distance always belongs to the same thread.
    const int64_t own = (query.position() - seen.residue) / seen.stride;
    const int64_t skipped = ((thread + own - seen.begin) % kTableThreads + kTableThreads) % kTableThreads;
    for (int64_t number = seen.begin + skipped; number < seen.end; number += kTableThreads) {
      const int64_t key = seen.key(number), distance = key - query.position();
      if (!mask_shows(frame.mask, query, index, key)) {
        continue;
      }
      const T* const k = from.keys.row(first_key + key) + int64_t{head / frame.group} * frame.key_width;
      const T* const v = from.values.row(first_key + key) + int64_t{head / frame.group} * frame.value_width;
      float dot = 0.0F, value_dot = 0.0F;
      for (int c = 0; c < frame.key_width; ++c) {
        dot = fmaf(to_float(q[c]), to_float(k[c]), dot);
      }
      for (int c = 0; c < frame.value_width; ++c) {
        value_dot = fmaf(to_float(d_out[c]), to_float(v[c]), value_dot);
      }
      const float d_score = gradient_of(frame, {query.row, distance, number, head}, dot, value_dot,
                                        from.log_sum_exp(query.row, head), from.deltas(query.row, head), from.d_mass)
                                .d_score;
      const int64_t column = distance_column(frame, distance);
      if (column == 0) {
        below += d_score;
      } else if (column == frame.distances - 1) {
        above += d_score;
      } else {
        table[column] = fmaf(frame.factor, d_score, table[column]);
      }
    }
  }
  ends[thread] = below;
  ends[kTableThreads + thread] = above;
  __syncthreads();
  if (thread < 2 && (thread == 0 || frame.distances > 1)) {
    float sum = 0.0F;
    for (int i = 0; i < kTableThreads; ++i) {
      sum += ends[thread * kTableThreads + i];
    }
    table[thread == 0 ? 0 : frame.distances - 1] = frame.factor * sum;
  }
}

Grid backward_grid(int64_t warps, int64_t floats_of_warp) {
  return grid_of_blocks(ceil_div<int64_t>(warps, kBackwardWarps), kBackwardWarps * kWarp,
                        kBackwardWarps * floats_of_warp * int64_t{sizeof(float)});
}

template <class T>
struct BackwardResults {
  Matrix<T> d_queries, d_keys, d_values;
  Matrix<float> d_table;
};

template <class T>
void backward_by_warps(Context& context, const AttentionFrame& frame, const BackwardOperands<T>& from,
                       const BackwardResults<T>& to) {
  const bool of_queries = frame.table_of == TableOf::query;
  const int64_t query_warps = frame.queries.rows * frame.heads;
  const int64_t key_warps = frame.keys.rows * (frame.heads / frame.group), floats = BackwardShared::floats(frame);
  if (query_warps > 0) {
    for_columns(frame.key_width, [&](auto columns) {
      launch(context.queue, backward_grid(query_warps, floats), d_queries_kernel<columns(), T>, frame, from,
             to.d_queries, of_queries ? to.d_table : Matrix<float>{});
    });
  }
  if (key_warps > 0) {
    for_columns(std::max(frame.key_width, frame.value_width), [&](auto columns) {
      launch(context.queue, backward_grid(key_warps, floats), d_keys_kernel<columns(), T>, frame, from, to.d_keys,
             to.d_values);
    });
  }
  if (!to.d_table.empty() && !of_queries && to.d_table.rows > 0) {
    launch(context.queue, grid_of_blocks(to.d_table.rows, kTableThreads, 2 * kTableThreads * int64_t{sizeof(float)}),
           d_head_table_kernel<T>, frame, from, to.d_table);
  }
}

// Whether the matrix units took the call.
template <class T>
bool took_backward_tiles(Context& context, const AttentionBackward& call, const AttentionFrame& frame,
                         const BackwardOperands<T>& from, const BackwardResults<T>& to) {
  if constexpr (std::is_same_v<T, bf16>) {
    const AttentionGradients gradients{from.queries, from.keys,    from.values, from.d_output, from.log_sum_exp,
                                       from.deltas,  to.d_queries, to.d_keys,   to.d_values};
    if (takes_tiles(call.settings, call.queries, call.memory)) {
      attention_backward_by_tiles(context, frame, gradients);
      return true;
    }
  }
  return false;
}

template <class T>
void run_attention_backward(Context& context, const AttentionBackward& call) {
  Operands operands(context);
  const AttentionFrame frame = frame_of(context, operands, call.settings, *call.segments, call.memory);
  const Tensor of_deltas({std::max<int64_t>(1, frame.queries.rows), frame.heads}, DType::f32, context.arena);
  const auto deltas = operands.out<float>(of_deltas.view());
  const BackwardOperands<T> from{operands.in<T>(call.queries),         operands.in<T>(call.memory.keys),
                                 operands.in<T>(call.memory.values),   operands.in<T>(call.d_output),
                                 operands.in<float>(call.log_sum_exp), to_read(deltas),
                                 operands.in<float>(call.d_mass)};
  const auto output = operands.in<T>(call.output);
  const BackwardResults<T> to{operands.out<T>(call.d_queries), operands.out<T>(call.d_keys),
                              operands.out<T>(call.d_values), operands.out<float>(call.d_by_distance)};
  if (frame.queries.rows > 0) {
    launch(context.queue, backward_grid(frame.queries.rows * frame.heads, 0), deltas_kernel<T>, frame, output,
           from.d_output, deltas);
  }
  if (!took_backward_tiles(context, call, frame, from, to)) {
    backward_by_warps(context, frame, from, to);
  }
  operands.finish();
}

}  // namespace

void attention_backward(Context& context, const AttentionBackward& call) {
  for_storage(call.queries.type(), [&]<class T>(T) { run_attention_backward<T>(context, call); });
}

}  // namespace heed::cuda
