// The gradient of activations, and gates.
#include "heed_cuda/kernels/elementwise/activation.cuh"
#include "heed_cuda/kernels/elementwise/elementwise.h"
#include "heed_cuda/kernels/machine/sweep.cuh"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

// d_before = d_y * dropout * act'(saved); what is saved is y for ReLU, and nothing for no activation.
template <class T, Activation kActivation>
struct ActivationBackwardPack {
  Matrix<const T> saved, d_y;
  Matrix<T> d_before;
  Dropout dropout;
  bool aligned;

  __device__ void operator()(int64_t r, int64_t c, int64_t left) const {
    float d[kPack<T>];
    load_pack(d_y.row(r) + c, left, aligned, d);
    drop_pack(dropout, r, c, d);
    if constexpr (kActivation != Activation::none) {
      float x[kPack<T>];
      load_pack(saved.row(r) + c, left, aligned, x);
      HEED_UNROLL
      for (int j = 0; j < kPack<T>; ++j) {
        d[j] *= activation_slope<kActivation>(x[j]);
      }
    }
    store_pack(d, d_before.row(r) + c, left, aligned);
  }
};

template <class T, Activation kActivation>
struct GatePack {
  Matrix<const T> x;
  Matrix<T> y;
  Dropout dropout;
  bool aligned;

  __device__ void operator()(int64_t r, int64_t c, int64_t left) const {
    float a[kPack<T>], b[kPack<T>];
    load_pack(x.row(r) + c, left, aligned, a);
    load_pack(x.row(r) + y.columns + c, left, aligned, b);
    HEED_UNROLL
    for (int j = 0; j < kPack<T>; ++j) {
      b[j] *= activate<kActivation>(a[j]);
    }
    drop_pack(dropout, r, c, b);
    store_pack(b, y.row(r) + c, left, aligned);
  }
};

// d_a = d_y * dropout * act'(a) * b      d_b = d_y * dropout * act(a)
template <class T, Activation kActivation>
struct GateBackwardPack {
  Matrix<const T> x, d_y;
  Matrix<T> d_x;
  Dropout dropout;
  bool aligned;

  __device__ void operator()(int64_t r, int64_t c, int64_t left) const {
    float a[kPack<T>], b[kPack<T>], d[kPack<T>];
    load_pack(x.row(r) + c, left, aligned, a);
    load_pack(x.row(r) + d_y.columns + c, left, aligned, b);
    load_pack(d_y.row(r) + c, left, aligned, d);
    drop_pack(dropout, r, c, d);
    HEED_UNROLL
    for (int j = 0; j < kPack<T>; ++j) {
      b[j] *= d[j] * activation_slope<kActivation>(a[j]);
      d[j] *= activate<kActivation>(a[j]);
    }
    store_pack(b, d_x.row(r) + c, left, aligned);
    store_pack(d, d_x.row(r) + d_y.columns + c, left, aligned);
  }
};

// Whether the second half of x's columns begins at a multiple of 16 bytes, too.
template <class T>
bool halves_aligned(int64_t inner) {
  return inner * static_cast<int64_t>(sizeof(T)) % 16 == 0;
}

}  // namespace

void activation_backward(Context& context, const ActivationBackward& call) {
  Operands operands(context);
  for_storage(call.d_y.type(), [&]<class T>(T) {
    Matrix<const T> saved, d_y = operands.in<T>(call.d_y);
    if (call.activation != Activation::none) {
      saved = operands.in<T>(call.activation == Activation::relu ? call.y : call.before);
    }
    Matrix<T> d_before = operands.out<T>(call.d_before);
    if (!call.dropout.active()) {
      flatten(saved, d_y, d_before);
    }
    const bool aligned = all_aligned(saved, d_y, d_before);
    for_activation(call.activation, [&]<class Tag>(Tag) {
      sweep<kPack<T>>(context, d_y.rows, d_y.columns,
                      ActivationBackwardPack<T, Tag::value>{saved, d_y, d_before, call.dropout, aligned});
    });
  });
  operands.finish();
}

void gate(Context& context, const GateForward& call) {
  Operands operands(context);
  for_storage(call.y.type(), [&]<class T>(T) {
    const Matrix<const T> x = operands.in<T>(call.x);
    const Matrix<T> y = operands.out<T>(call.y);
    const bool aligned = all_aligned(x, y) && halves_aligned<T>(y.columns);
    for_activation(call.activation, [&]<class Tag>(Tag) {
      sweep<kPack<T>>(context, y.rows, y.columns, GatePack<T, Tag::value>{x, y, call.dropout, aligned});
    });
  });
  operands.finish();
}

void gate_backward(Context& context, const GateBackward& call) {
  Operands operands(context);
  for_storage(call.d_y.type(), [&]<class T>(T) {
    const Matrix<const T> x = operands.in<T>(call.x), d_y = operands.in<T>(call.d_y);
    const Matrix<T> d_x = operands.out<T>(call.d_x);
    const bool aligned = all_aligned(x, d_y, d_x) && halves_aligned<T>(d_y.columns);
    for_activation(call.activation, [&]<class Tag>(Tag) {
      sweep<kPack<T>>(context, d_y.rows, d_y.columns,
                      GateBackwardPack<T, Tag::value>{x, d_y, d_x, call.dropout, aligned});
    });
  });
  operands.finish();
}

}  // namespace heed::cuda
