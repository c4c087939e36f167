#include "heed_cuda/kernels/machine/sweep.cuh"
#include "heed_cuda/kernels/rows/rows.h"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

// What a sequence's sum is multiplied by.
__device__ inline float pooling_factor(Pooling kind, int64_t length) {
  const auto count = static_cast<float>(length);
  return 1.0F / (kind == Pooling::mean_sqrt_length ? sqrtf(count) : count);
}

// A pack of a sequence's mean, or sum divided by a root.
template <class T>
struct PoolMeanPack {
  DeviceSegments segments;
  Pooling kind;
  Matrix<const T> x;
  Matrix<T> y;
  bool aligned;

  __device__ void operator()(int64_t s, int64_t c, int64_t left) const {
    const int64_t begin = segments.offsets[s], end = segments.offsets[s + 1];
    float sum[kPack<T>] = {};
    for (int64_t r = begin; r < end; ++r) {
      float row[kPack<T>];
      load_pack(x.row(r) + c, left, aligned, row);
      HEED_UNROLL
      for (int j = 0; j < kPack<T>; ++j) {
        sum[j] += row[j];
      }
    }
    const float factor = begin < end ? pooling_factor(kind, end - begin) : 0.0F;
    HEED_UNROLL
    for (int j = 0; j < kPack<T>; ++j) {
      sum[j] *= factor;
    }
    store_pack(sum, y.row(s) + c, left, aligned);
  }
};

// The maximum of a sequence's rows in one column, the first in a tie.
template <class T>
struct PoolMaximum {
  DeviceSegments segments;
  Matrix<const T> x;
  Matrix<T> y;
  Matrix<int32_t> chosen;

  __device__ void operator()(int64_t s, int64_t c, int64_t /*left*/) const {
    const int64_t begin = segments.offsets[s], end = segments.offsets[s + 1];
    int64_t largest = begin;
    float value = begin < end ? to_float(x(begin, c)) : 0.0F;
    for (int64_t r = begin + 1; r < end; ++r) {
      const float other = to_float(x(r, c));
      if (other > value) {
        value = other;
        largest = r;
      }
    }
    y(s, c) = from_float<T>(value);
    chosen(s, c) = static_cast<int32_t>(largest);
  }
};

// The sequence that a row is in: the last one that begins there or before.
__device__ inline int64_t sequence_of(const DeviceSegments& segments, int64_t row) {
  int64_t low = 0, high = segments.count - 1;
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    if (segments.offsets[middle] <= row) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

template <class T>
struct PoolBackwardPack {
  DeviceSegments segments;
  Pooling kind;
  Matrix<const int32_t> chosen;
  Matrix<const T> d_y;
  Matrix<T> d_x;
  Write write;
  bool aligned;

  __device__ void operator()(int64_t r, int64_t c, int64_t left) const {
    const int64_t s = sequence_of(segments, r);
    float d[kPack<T>];
    load_pack(d_y.row(s) + c, left, aligned, d);
    const float factor =
        kind == Pooling::max ? 1.0F : pooling_factor(kind, segments.offsets[s + 1] - segments.offsets[s]);
    HEED_UNROLL
    for (int j = 0; j < kPack<T>; ++j) {
      const bool counts = kind != Pooling::max || (j < left && chosen(s, c + j) == r);
      d[j] = counts ? d[j] * factor : 0.0F;
    }
    if (write == Write::add) {
      float former[kPack<T>];
      load_pack(d_x.row(r) + c, left, aligned, former);
      HEED_UNROLL
      for (int j = 0; j < kPack<T>; ++j) {
        d[j] += former[j];
      }
    }
    store_pack(d, d_x.row(r) + c, left, aligned);
  }
};

}  // namespace

void pool(Context& context, const PoolForward& call) {
  Operands operands(context);
  const DeviceSegments segments = context.segments(*call.segments);
  for_storage(call.y.type(), [&]<class T>(T) {
    const Matrix<const T> x = operands.in<T>(call.x);
    const Matrix<T> y = operands.out<T>(call.y);
    if (call.kind == Pooling::max) {
      sweep<1>(context, y.rows, y.columns, PoolMaximum<T>{segments, x, y, operands.out<int32_t>(call.chosen)});
    } else {
      sweep<kPack<T>>(context, y.rows, y.columns, PoolMeanPack<T>{segments, call.kind, x, y, all_aligned(x, y)});
    }
  });
  operands.finish();
}

void pool_backward(Context& context, const PoolBackward& call) {
  Operands operands(context);
  const DeviceSegments segments = context.segments(*call.segments);
  for_storage(call.d_x.type(), [&]<class T>(T) {
    const Matrix<const T> d_y = operands.in<T>(call.d_y);
    const Matrix<T> d_x = call.write == Write::add ? operands.in_out<T>(call.d_x) : operands.out<T>(call.d_x);
    sweep<kPack<T>>(context, d_x.rows, d_x.columns,
                    PoolBackwardPack<T>{segments, call.kind, operands.in<int32_t>(call.chosen), d_y, d_x, call.write,
                                        all_aligned(d_y, d_x)});
  });
  operands.finish();
}

}  // namespace heed::cuda
