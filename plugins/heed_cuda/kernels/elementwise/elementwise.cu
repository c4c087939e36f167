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

// x = change(x), element by element.
template <class T, class Change>
struct ChangePack {
  Matrix<T> x;
  Change change;
  bool aligned;

  __device__ void operator()(int64_t r, int64_t c, int64_t left) const {
    float a[kPack<T>];
    load_pack(x.row(r) + c, left, aligned, a);
    HEED_UNROLL
    for (int j = 0; j < kPack<T>; ++j) {
      a[j] = change(a[j]);
    }
    store_pack(a, x.row(r) + c, left, aligned);
  }
};

template <class Change>
void change_each(Context& context, const View& x, const Change& change) {
  Operands operands(context);
  for_storage(x.type(), [&]<class T>(T) {
    Matrix<T> to = operands.in_out<T>(x);
    flatten(to);
    sweep<kPack<T>>(context, to.rows, to.columns, ChangePack<T, Change>{to, change, all_aligned(to)});
  });
  operands.finish();
}

// x = change(x, other), element by element.
template <class T, class Change>
struct ChangeByOtherPack {
  Matrix<T> x;
  Matrix<const T> other;
  Change change;
  bool aligned;

  __device__ void operator()(int64_t r, int64_t c, int64_t left) const {
    float a[kPack<T>], b[kPack<T>];
    load_pack(x.row(r) + c, left, aligned, a);
    load_pack(other.row(r) + c, left, aligned, b);
    HEED_UNROLL
    for (int j = 0; j < kPack<T>; ++j) {
      a[j] = change(a[j], b[j]);
    }
    store_pack(a, x.row(r) + c, left, aligned);
  }
};

template <class Change>
void change_each(Context& context, const View& x, const ConstView& other, const Change& change) {
  Operands operands(context);
  for_storage(x.type(), [&]<class T>(T) {
    Matrix<const T> from = operands.in<T>(other);
    Matrix<T> to = operands.in_out<T>(x);
    flatten(from, to);
    sweep<kPack<T>>(context, to.rows, to.columns,
                    ChangeByOtherPack<T, Change>{to, from, change, all_aligned(from, to)});
  });
  operands.finish();
}

struct Sum {
  __device__ float operator()(float x, float other) const { return x + other; }
};

struct Scaled {
  float factor;
  __device__ float operator()(float x) const { return x * factor; }
};

struct Blended {
  float share;
  __device__ float operator()(float x, float other) const { return x + share * (other - x); }
};

struct Capped {
  float cap, inverse;
  __device__ float operator()(float x) const { return cap * tanhf(x * inverse); }
};

// The gradient of what was capped to y.
struct SlopeOfCap {
  float inverse;
  __device__ float operator()(float d_y, float y) const {
    const float share = y * inverse;
    return d_y * (1.0F - share * share);
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

void add(Context& context, const ConstView& x, const View& into) { change_each(context, into, x, Sum{}); }

void scale(Context& context, const View& x, double factor) {
  change_each(context, x, Scaled{static_cast<float>(factor)});
}

void blend(Context& context, const ConstView& from, const View& into, double share) {
  change_each(context, into, from, Blended{static_cast<float>(share)});
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
  change_each(context, call.x, Capped{static_cast<float>(call.cap), static_cast<float>(1.0 / call.cap)});
}

void soft_cap_backward(Context& context, const SoftCapBackward& call) {
  change_each(context, call.d_y, call.y, SlopeOfCap{static_cast<float>(1.0 / call.cap)});
}

}  // namespace heed::cuda
