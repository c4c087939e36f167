// What is written to a cache, and scores that are looked up by distance.
#include <type_traits>

#include "heed_cuda/device/launch.h"
#include "heed_cuda/kernels/attention/attention.h"
#include "heed_cuda/kernels/attention/attention_frame.h"
#include "kernels/integer_rows.h"

namespace heed::cuda {
namespace {

constexpr int kAppendThreads = 128;

template <class T, class M>
struct AppendSide {
  Matrix<const T> from;
  Matrix<M> to;
  Matrix<float> scales;
};

// As quantize_row() does.
template <class T>
__device__ void append_int8(const AppendSide<T, int8_t>& side, int64_t from_row, int64_t to_row) {
  const int lane = static_cast<int>(threadIdx.x % kWarp), warps = kAppendThreads / kWarp;
  const int64_t heads = side.scales.columns, width = side.from.columns / heads;
  for (int64_t head = threadIdx.x / kWarp; head < heads; head += warps) {
    const T* const from = side.from.row(from_row) + head * width;
    float largest = 0.0F;
    for (int64_t c = lane; c < width; c += kWarp) {
      largest = fmaxf(largest, fabsf(to_float(from[c])));
    }
    largest = warp_max(largest);
    const float inverse = largest > kLeastMagnitude ? 127.0F / largest : 0.0F;
    for (int64_t c = lane; c < width; c += kWarp) {
      side.to(to_row, head * width + c) = static_cast<int8_t>(__float2int_rn(to_float(from[c]) * inverse));
    }
    if (lane == 0) {
      side.scales(to_row, head) = largest / 127.0F;
    }
  }
}

template <class T, class M>
__device__ void append_row(const AppendSide<T, M>& side, int64_t from_row, int64_t to_row) {
  if constexpr (std::is_same_v<M, int8_t>) {
    append_int8(side, from_row, to_row);
  } else {
    for (int64_t c = threadIdx.x; c < side.from.columns; c += kAppendThreads) {
      side.to(to_row, c) = from_float<M>(to_float(side.from(from_row, c)));
    }
  }
}

// A block for each new row.
template <class T, class M>
__global__ void append_kernel(DeviceSegments fresh, TokenRows cache, AppendSide<T, M> keys, AppendSide<T, M> values,
                              const int64_t* known_offsets) {
  const int64_t row = blockIdx.x, s = sequence_of(fresh.offsets, fresh.count, row);
  const int64_t known = known_offsets[s + 1] - known_offsets[s];  // with the new rows
  const int64_t to_row = cache.row(s, known - (fresh.offsets[s + 1] - row));
  append_row(keys, row, to_row);
  append_row(values, row, to_row);
}

template <class T, class M>
void run_append(Context& context, const KeyValueAppend& call) {
  Operands operands(context);
  const DeviceSegments fresh = context.segments(*call.segments);
  const TokenRows cache = token_rows(context, operands, *call.memory.segments, call.memory.table);
  const AppendSide<T, M> keys{operands.in<T>(call.keys), operands.in_out<M>(call.memory.keys),
                              operands.in_out<float>(call.memory.scales.keys)};
  const AppendSide<T, M> values{operands.in<T>(call.values), operands.in_out<M>(call.memory.values),
                                operands.in_out<float>(call.memory.scales.values)};
  if (fresh.rows > 0) {
    launch(context.queue, grid_of_blocks(fresh.rows, kAppendThreads), append_kernel<T, M>, fresh, cache, keys, values,
           cache.offsets);
  }
  operands.finish();
}

__global__ void spread_kernel(Matrix<const float> table, Matrix<const int32_t> buckets, Matrix<float> scores) {
  for (int64_t i = thread_of_grid(); i < scores.rows * scores.columns; i += threads_of_grid()) {
    const int64_t head = i / scores.columns, d = i % scores.columns;
    scores(head, d) = table(buckets(0, d), head);
  }
}

// A thread for each element of the table.
__global__ void spread_backward_kernel(Matrix<const int32_t> buckets, Matrix<const float> d_scores,
                                       Matrix<float> d_table) {
  for (int64_t i = thread_of_grid(); i < d_table.rows * d_table.columns; i += threads_of_grid()) {
    const int64_t bucket = i / d_table.columns, head = i % d_table.columns;
    float sum = d_table(bucket, head);
    for (int64_t d = 0; d < d_scores.columns; ++d) {
      if (buckets(0, d) == bucket) {
        sum += d_scores(head, d);
      }
    }
    d_table(bucket, head) = sum;
  }
}

}  // namespace

void append_key_values(Context& context, const KeyValueAppend& call) {
  const DType cache = call.memory.keys.type();
  for_storage(call.keys.type(), [&]<class T>(T) {
    if (cache == DType::i8) {
      run_append<T, int8_t>(context, call);
    } else if (cache == DType::bf16) {
      run_append<T, bf16>(context, call);
    } else {
      run_append<T, T>(context, call);
    }
  });
}

void spread_buckets(Context& context, const SpreadBuckets& call) {
  Operands operands(context);
  launch(context.queue, grid_over(call.scores.elements()), spread_kernel, operands.in<float>(call.table),
         operands.in<int32_t>(call.buckets), operands.out<float>(call.scores));
  operands.finish();
}

void spread_buckets_backward(Context& context, const SpreadBucketsBackward& call) {
  Operands operands(context);
  launch(context.queue, grid_over(call.d_table.elements()), spread_backward_kernel, operands.in<int32_t>(call.buckets),
         operands.in<float>(call.d_scores), operands.in_out<float>(call.d_table));
  operands.finish();
}

}  // namespace heed::cuda
