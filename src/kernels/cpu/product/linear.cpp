#include "kernels/cpu/product/linear.h"

#include <algorithm>
#include <variant>

#ifndef HEED_KERNELS_CPU_LINEAR_ONCE
#define HEED_KERNELS_CPU_LINEAR_ONCE
namespace heed::cpu {

struct GradientTarget {
  View to;
  Write write;
  double scale;
};

}  // namespace heed::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/product/linear.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/elementwise/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

// ---- forward: bias, activation and dropout of a tile of x W^T ----

template <class T, Activation kind>
void finish_rows(const LinearForward& call, const Tile& tile) {
  const HostView<T> y = host<T>(call.y);
  for (int64_t r = 0; r < tile.rows; ++r) {
    const int64_t row = tile.first_row + r;
    const int64_t bias_row = call.bias.rows() > 1 ? row : 0;
    const float* const bias = call.bias.empty() ? nullptr : host<float>(call.bias).row(bias_row) + tile.first_column;
    const float* const values = tile.values + r * tile.stride;
    T* const out = y.row(row) + tile.first_column;
    T* const before = call.before.empty() ? nullptr : host<T>(call.before).row(row) + tile.first_column;
    DropoutRow drop(call.dropout, row);
    each_vector(tile.columns, [&](int64_t c, int64_t left) HWY_ATTR {
      Vec x = load(values + c);  // tiles are whole vectors wide
      if (bias != nullptr) {
        x = hn::Add(x, load_upto(bias + c, left));
      }
      if (before != nullptr) {
        store_upto(x, before + c, left);
      }
      store_upto(drop.apply(activate<kind>(x), tile.first_column + c), out + c, left);
    });
  }
}

// ---- backward ----

template <class T, Activation kind>
void activation_backward_row(const ActivationBackward& call, int64_t row) {
  const T* const d_y = host<T>(call.d_y).row(row);
  T* const d_before = host<T>(call.d_before).row(row);
  const int64_t columns = call.d_y.columns();
  if constexpr (kind == Activation::relu) {
    const T* const y = host<T>(call.y).row(row);
    const Vec scale = constant(call.dropout.scale());
    each_vector(columns, [&](int64_t c, int64_t left) HWY_ATTR {
      const auto passed = hn::Gt(load_upto(y + c, left), constant(0.0F));
      store_upto(hn::IfThenElseZero(passed, hn::Mul(load_upto(d_y + c, left), scale)), d_before + c, left);
    });
  } else {
    const T* const before = kind == Activation::none ? nullptr : host<T>(call.before).row(row);
    DropoutRow drop(call.dropout, row);
    each_vector(columns, [&](int64_t c, int64_t left) HWY_ATTR {
      Vec d = drop.apply(load_upto(d_y + c, left), c);
      if constexpr (kind != Activation::none) {
        d = hn::Mul(d, slope<kind>(load_upto(before + c, left)));
      }
      store_upto(d, d_before + c, left);
    });
  }
}

void activation_backward_rows(const ActivationBackward& call, int64_t begin, int64_t end) {
  with_activation(call.activation, [&]<Activation kind>() {
    for (int64_t row = begin; row < end; ++row) {
      if (call.d_y.type() == DType::bf16) {
        activation_backward_row<bf16, kind>(call, row);
      } else {
        activation_backward_row<float, kind>(call, row);
      }
    }
  });
}

// to (+)= scale * tile.
template <class T>
void write_gradient(const GradientTarget& target, const Tile& tile) {
  const HostView<T> to = host<T>(target.to);
  const Vec scale = constant(static_cast<float>(target.scale));
  for (int64_t r = 0; r < tile.rows; ++r) {
    const float* const values = tile.values + r * tile.stride;
    T* const out = to.row(tile.first_row + r) + tile.first_column;
    each_vector(tile.columns, [&](int64_t c, int64_t left) HWY_ATTR {
      Vec x = hn::Mul(load(values + c), scale);
      if (target.write == Write::add) {
        x = hn::Add(x, load_upto(out + c, left));
      }
      store_upto(x, out + c, left);
    });
  }
}

// Sums of the columns over all rows, in the order of the rows. Several vectors at a time, to hide the latency of the
// additions.
constexpr int kTogether = 4;

template <class T>
HWY_INLINE void sum_together(const HostView<const T>& x, int64_t column, float* sums) {
  Vec sum[kTogether];
  for (Vec& s : sum) {
    s = hn::Zero(Floats());
  }
  for (int64_t r = 0; r < x.rows; ++r) {
    const T* const row = x.row(r) + column;
    for (int v = 0; v < kTogether; ++v) {
      sum[v] = hn::Add(sum[v], load(row + v * lanes()));
    }
  }
  for (int v = 0; v < kTogether; ++v) {
    store(sum[v], sums + column + v * lanes());
  }
}

template <class T>
HWY_INLINE void sum_vector(const HostView<const T>& x, int64_t column, float* sums) {
  Vec sum = hn::Zero(Floats());
  for (int64_t r = 0; r < x.rows; ++r) {
    sum = hn::Add(sum, load_upto(x.row(r) + column, x.columns - column));
  }
  store_upto(sum, sums + column, x.columns - column);
}

template <class T>
void sum_columns(const HostView<const T>& x, float* sums) {
  int64_t c = 0;
  for (; c + kTogether * lanes() <= x.columns; c += kTogether * lanes()) {
    sum_together(x, c, sums);
  }
  for (; c < x.columns; c += lanes()) {
    sum_vector(x, c, sums);
  }
}

}  // namespace

void run_finish_tile(const LinearForward& call, const Tile& tile) {
  const bool half = call.y.type() == DType::bf16;
  with_activation(call.activation, [&]<Activation kind>() {
    half ? finish_rows<bf16, kind>(call, tile) : finish_rows<float, kind>(call, tile);
  });
}
void run_write_gradient(const GradientTarget& target, const Tile& tile) {
  target.to.type() == DType::bf16 ? write_gradient<bf16>(target, tile) : write_gradient<float>(target, tile);
}
void run_activation_backward(const ActivationBackward& call, int64_t begin, int64_t end) {
  activation_backward_rows(call, begin, end);
}
void run_sum_columns(const ConstView& x, float* sums) {
  x.type() == DType::bf16 ? sum_columns(host<bf16>(x), sums) : sum_columns(host<float>(x), sums);
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_finish_tile);
HWY_EXPORT(run_write_gradient);
HWY_EXPORT(run_activation_backward);
HWY_EXPORT(run_sum_columns);

namespace {

void take_output(const void* context, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(run_finish_tile)(*static_cast<const LinearForward*>(context), tile);
}

void take_gradient(const void* context, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(run_write_gradient)(*static_cast<const GradientTarget*>(context), tile);
}

void multiply_into(Context& context, const Operand& a, const Operand& b, Bf16Products products,
                   const GradientTarget& target) {
  const Panels panels =
      pack_panels(context, b, products, context.shared_scratch.reserve<float>(panel_elements(b, products)));
  multiply(context, a, panels, {take_gradient, &target});
}

// The bias gradient is summed within slices of the rows and then over the slices, which depend only on the sizes.
struct BiasSums {
  ConstView d_y;
  float* sums;  // of each slice, a row of as many columns
};

void sum_bias_slice(const void* context, const DepthSlice& slice) {
  const BiasSums& bias = *static_cast<const BiasSums*>(context);
  HWY_DYNAMIC_DISPATCH(run_sum_columns)
  (bias.d_y.row_range(slice.first, slice.depth), bias.sums + slice.number * bias.d_y.columns());
}

void add_bias_slices(const LinearWeightGradient& call, const BiasSums& bias, int64_t slices) {
  const int64_t columns = bias.d_y.columns();
  float* const d_bias = host<float>(call.d_bias).data;
  for (int64_t c = 0; c < columns; ++c) {
    float sum = 0.0F;
    for (int64_t slice = 0; slice < slices; ++slice) {
      sum += bias.sums[slice * columns + c];
    }
    sum *= static_cast<float>(call.scale);
    d_bias[c] = call.write == Write::add ? d_bias[c] + sum : sum;
  }
}

}  // namespace

AnyPanels panels_of_weight(Context& context, const WeightView& weight, Bf16Products products) {
  if (weight.packed != nullptr) {
    return static_cast<const CpuWeight*>(weight.packed)->panels();
  }
  const Operand operand{weight.matrix, Layout::transposed};
  return pack_panels(context, operand, products,
                     context.shared_scratch.reserve<float>(panel_elements(operand, products)));
}

void linear(Context& context, Bf16Products products, const LinearForward& call) {
  std::visit(
      [&](const auto& panels) {
        multiply(context, {call.x}, panels, {take_output, &call});
      },
      panels_of_weight(context, call.weight, products));
}

void activation_backward(Context& context, const ActivationBackward& call) {
  const RowTasks tasks(call.d_y.rows(), call.d_y.columns(), context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    HWY_DYNAMIC_DISPATCH(run_activation_backward)(call, tasks.begin(task), tasks.end(task));
  });
}

void linear_input_gradient(Context& context, Bf16Products products, const LinearInputGradient& call) {
  multiply_into(context, {call.d_y}, {call.weight.matrix}, products, {call.d_x, call.write, call.scale});
}

void linear_weight_gradient(Context& context, Bf16Products products, const LinearWeightGradient& call) {
  const Operand d_y{call.d_y, Layout::transposed}, x{call.x};
  const GradientTarget target{call.d_weight, call.write, call.scale};
  const DepthSlices slices(call.d_y.rows());
  const bool with_bias = !call.d_bias.empty();
  const BiasSums bias{call.d_y,
                      with_bias ? context.bias_scratch.reserve<float>(slices.count() * call.d_y.columns()) : nullptr};
  if (call.d_weight.empty()) {
    context.pool.run(slices.count(), [&](int64_t slice, int) { sum_bias_slice(&bias, slices.at(slice)); });
  } else if (is_deep(d_y, x)) {
    multiply_deep(context, d_y, x, products, {take_gradient, &target}, {with_bias ? sum_bias_slice : nullptr, &bias});
  } else {
    multiply_into(context, d_y, x, products, target);
    if (with_bias) {
      context.pool.run(slices.count(), [&](int64_t slice, int) { sum_bias_slice(&bias, slices.at(slice)); });
    }
  }
  if (with_bias) {
    add_bias_slices(call, bias, slices.count());
  }
}

}  // namespace heed::cpu
#endif
