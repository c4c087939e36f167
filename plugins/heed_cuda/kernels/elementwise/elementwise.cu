#include "heed_cuda/kernels/elementwise/elementwise.h"

#include "heed_cuda/kernels/machine/sweep.cuh"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

template <class T>
__global__ void fill_kernel(Matrix<T> x, T value) {
  for (int64_t i = thread_of_grid(); i < x.rows * x.columns; i += threads_of_grid()) {
    x(i / x.columns, i % x.columns) = value;
  }
}

template <class T>
T stored_as(double value) {
  if constexpr (std::is_same_v<T, bf16>) {
    return bf16(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

// Between storage types.
template <class From, class To>
struct ConvertPack {
  Matrix<const From> from;
  Matrix<To> to;
  bool aligned;

  __device__ void operator()(int64_t r, int64_t c, int64_t left) const {
    float x[kPack<bf16>];
    load_pack(from.row(r) + c, left, aligned, x);
    store_pack(x, to.row(r) + c, left, aligned);
  }
};

// Between any other types.
template <class From, class To>
struct ConvertElement {
  Matrix<const From> from;
  Matrix<To> to;

  __device__ void operator()(int64_t r, int64_t c, int64_t /*left*/) const {
    if constexpr (std::is_same_v<To, bf16>) {
      to(r, c) = bf16(to_float(from(r, c)));
    } else if constexpr (std::is_same_v<From, bf16>) {
      to(r, c) = static_cast<To>(to_float(from(r, c)));
    } else {
      to(r, c) = static_cast<To>(from(r, c));
    }
  }
};

template <class T>
constexpr bool kIsStorage = std::is_same_v<T, float> || std::is_same_v<T, bf16>;

template <class From, class To>
void convert(Context& context, Matrix<const From> from, Matrix<To> to) {
  flatten(from, to);
  if constexpr (kIsStorage<From> && kIsStorage<To>) {
    sweep<kPack<bf16>>(context, to.rows, to.columns, ConvertPack<From, To>{from, to, all_aligned(from, to)});
  } else {
    sweep<1>(context, to.rows, to.columns, ConvertElement<From, To>{from, to});
  }
}

template <class T>
struct AddPack {
  Matrix<const T> x;
  Matrix<T> into;
  bool aligned;

  __device__ void operator()(int64_t r, int64_t c, int64_t left) const {
    float a[kPack<T>], b[kPack<T>];
    load_pack(x.row(r) + c, left, aligned, a);
    load_pack(into.row(r) + c, left, aligned, b);
    HEED_UNROLL
    for (int j = 0; j < kPack<T>; ++j) {
      b[j] += a[j];
    }
    store_pack(b, into.row(r) + c, left, aligned);
  }
};

template <class T>
struct ScalePack {
  Matrix<T> x;
  float factor;
  bool aligned;

  __device__ void operator()(int64_t r, int64_t c, int64_t left) const {
    float a[kPack<T>];
    load_pack(x.row(r) + c, left, aligned, a);
    HEED_UNROLL
    for (int j = 0; j < kPack<T>; ++j) {
      a[j] *= factor;
    }
    store_pack(a, x.row(r) + c, left, aligned);
  }
};

struct BlendPack {
  Matrix<const float> from;
  Matrix<float> into;
  float share;
  bool aligned;

  __device__ void operator()(int64_t r, int64_t c, int64_t left) const {
    float a[kPack<float>], b[kPack<float>];
    load_pack(from.row(r) + c, left, aligned, a);
    load_pack(into.row(r) + c, left, aligned, b);
    HEED_UNROLL
    for (int j = 0; j < kPack<float>; ++j) {
      b[j] += share * (a[j] - b[j]);
    }
    store_pack(b, into.row(r) + c, left, aligned);
  }
};

constexpr size_t kMostParts = 64;

template <class T>
struct SumPartsPack {
  Matrix<const T> parts[kMostParts];
  int count;
  Matrix<const float> bias;
  Matrix<T> y;
  bool aligned;

  __device__ void operator()(int64_t r, int64_t c, int64_t left) const {
    float sum[kPack<T>], part[kPack<T>];
    load_pack(parts[0].row(r) + c, left, aligned, sum);
    for (int k = 1; k < count; ++k) {
      load_pack(parts[k].row(r) + c, left, aligned, part);
      add(part, sum);
    }
    if (!bias.empty()) {
      load_pack(bias.data + c, left, aligned, part);
      add(part, sum);
    }
    store_pack(sum, y.row(r) + c, left, aligned);
  }

 private:
  __device__ static void add(const float (&x)[kPack<T>], float (&into)[kPack<T>]) {
    HEED_UNROLL
    for (int j = 0; j < kPack<T>; ++j) {
      into[j] += x[j];
    }
  }
};

template <class T>
struct DropPack {
  Matrix<T> x;
  Dropout dropout;
  bool aligned;

  __device__ void operator()(int64_t r, int64_t c, int64_t left) const {
    float a[kPack<T>];
    load_pack(x.row(r) + c, left, aligned, a);
    drop_pack(dropout, r, c, a);
    store_pack(a, x.row(r) + c, left, aligned);
  }
};

template <class T>
struct SoftCapPack {
  Matrix<T> x;
  float cap, inverse;
  bool aligned;

  __device__ void operator()(int64_t r, int64_t c, int64_t left) const {
    float a[kPack<T>];
    load_pack(x.row(r) + c, left, aligned, a);
    HEED_UNROLL
    for (int j = 0; j < kPack<T>; ++j) {
      a[j] = cap * tanhf(a[j] * inverse);
    }
    store_pack(a, x.row(r) + c, left, aligned);
  }
};

template <class T>
struct SoftCapBackwardPack {
  Matrix<const T> y;
  Matrix<T> d_y;
  float inverse;
  bool aligned;

  __device__ void operator()(int64_t r, int64_t c, int64_t left) const {
    float a[kPack<T>], d[kPack<T>];
    load_pack(y.row(r) + c, left, aligned, a);
    load_pack(d_y.row(r) + c, left, aligned, d);
    HEED_UNROLL
    for (int j = 0; j < kPack<T>; ++j) {
      const float share = a[j] * inverse;
      d[j] *= 1.0F - share * share;
    }
    store_pack(d, d_y.row(r) + c, left, aligned);
  }
};

}  // namespace

void fill(Context& context, View x, double value) {
  if (x.device() != Device::cpu && x.contiguous() && value == 0.0) {
    context.queue.fill_bytes(device_address(x), 0, x.elements() * size_of(x.type()));
    return;
  }
  Operands operands(context);
  for_any_type(x.type(), [&]<class T>(T) {
    Matrix<T> to = operands.out<T>(x);
    flatten(to);
    launch(context.queue, grid_over(x.elements()), fill_kernel<T>, to, stored_as<T>(value));
  });
  operands.finish();
}

void copy(Context& context, const ConstView& from, const View& to) {
  const bool from_host = from.device() == Device::cpu, to_host = to.device() == Device::cpu;
  // Rows apart from each other are copied by a kernel, for which that makes no difference.
  const bool by_kernel = from_host == to_host && (from_host || !from.contiguous() || !to.contiguous());
  if (from.type() == to.type() && !by_kernel) {
    const int64_t size = size_of(from.type());
    const Block2d block{to.rows(), to.columns() * size, from.stride() * size, to.stride() * size};
    if (from_host) {
      context.queue.upload(host_address(from), device_address(to), block);
    } else if (to_host) {
      context.queue.download(device_address(from), host_address(to), block);
    } else {
      context.queue.copy(device_address(from), device_address(to), block);
    }
    return;
  }
  Operands operands(context);
  for_any_type(from.type(), [&]<class From>(From) {
    for_any_type(to.type(), [&]<class To>(To) { convert(context, operands.in<From>(from), operands.out<To>(to)); });
  });
  operands.finish();
}

void add(Context& context, const ConstView& x, const View& into) {
  Operands operands(context);
  for_storage(into.type(), [&]<class T>(T) {
    Matrix<const T> from = operands.in<T>(x);
    Matrix<T> to = operands.in_out<T>(into);
    flatten(from, to);
    sweep<kPack<T>>(context, to.rows, to.columns, AddPack<T>{from, to, all_aligned(from, to)});
  });
  operands.finish();
}

void scale(Context& context, const View& x, double factor) {
  Operands operands(context);
  for_storage(x.type(), [&]<class T>(T) {
    Matrix<T> matrix = operands.in_out<T>(x);
    flatten(matrix);
    sweep<kPack<T>>(context, matrix.rows, matrix.columns,
                    ScalePack<T>{matrix, static_cast<float>(factor), all_aligned(matrix)});
  });
  operands.finish();
}

void blend(Context& context, const ConstView& from, const View& into, double share) {
  Operands operands(context);
  Matrix<const float> other = operands.in<float>(from);
  Matrix<float> to = operands.in_out<float>(into);
  flatten(other, to);
  sweep<kPack<float>>(context, to.rows, to.columns,
                      BlendPack{other, to, static_cast<float>(share), all_aligned(other, to)});
  operands.finish();
}

void sum_parts(Context& context, const SumParts& call) {
  ensure(!call.parts.empty() && call.parts.size() <= kMostParts, "cuda", "{} parts", call.parts.size());
  Operands operands(context);
  for_storage(call.y.type(), [&]<class T>(T) {
    SumPartsPack<T> body{};
    for (const ConstView& part : call.parts) {
      body.parts[body.count++] = operands.in<T>(part);
    }
    body.bias = operands.in<float>(call.bias);
    body.y = operands.out<T>(call.y);
    body.aligned = all_aligned(body.bias, body.y);
    for (int k = 0; k < body.count; ++k) {
      body.aligned = body.aligned && all_aligned(body.parts[k]);
    }
    sweep<kPack<T>>(context, body.y.rows, body.y.columns, body);
  });
  operands.finish();
}

void drop(Context& context, const Drop& call) {
  if (!call.dropout.active()) {
    return;
  }
  Operands operands(context);
  for_storage(call.x.type(), [&]<class T>(T) {
    const Matrix<T> x = operands.in_out<T>(call.x);
    sweep<kPack<T>>(context, x.rows, x.columns, DropPack<T>{x, call.dropout, all_aligned(x)});
  });
  operands.finish();
}

void soft_cap(Context& context, const SoftCap& call) {
  Operands operands(context);
  for_storage(call.x.type(), [&]<class T>(T) {
    Matrix<T> x = operands.in_out<T>(call.x);
    flatten(x);
    sweep<kPack<T>>(
        context, x.rows, x.columns,
        SoftCapPack<T>{x, static_cast<float>(call.cap), static_cast<float>(1.0 / call.cap), all_aligned(x)});
  });
  operands.finish();
}

void soft_cap_backward(Context& context, const SoftCapBackward& call) {
  Operands operands(context);
  for_storage(call.d_y.type(), [&]<class T>(T) {
    Matrix<const T> y = operands.in<T>(call.y);
    Matrix<T> d_y = operands.in_out<T>(call.d_y);
    flatten(y, d_y);
    sweep<kPack<T>>(context, d_y.rows, d_y.columns,
                    SoftCapBackwardPack<T>{y, d_y, static_cast<float>(1.0 / call.cap), all_aligned(y, d_y)});
  });
  operands.finish();
}

}  // namespace heed::cuda
