#include "heed_cuda/kernels/product/products.h"

#include "heed_cuda/kernels/product/bias_gradient.h"
#include "heed_cuda/kernels/product/integer_product.h"
#include "heed_cuda/kernels/product/product_launch.h"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

template <class T>
Elements elements_of(const Matrix<T>& matrix) {
  constexpr DType kType = dtype_of<std::remove_const_t<T>>;
  const bool whole_pairs =
      reinterpret_cast<uintptr_t>(matrix.data) % (2 * sizeof(T)) == 0 && (matrix.stride % 2 == 0 || matrix.rows <= 1);
  return {const_cast<std::remove_const_t<T>*>(matrix.data), matrix.stride, kType, whole_pairs};
}

Elements read(Operands& operands, const ConstView& view) {
  Elements result;
  if (!view.empty()) {
    for_storage(view.type(), [&]<class T>(T) { result = elements_of(operands.in<T>(view)); });
  }
  return result;
}

Elements written(Operands& operands, const View& view, Write write = Write::overwrite) {
  Elements result;
  if (!view.empty()) {
    for_storage(view.type(), [&]<class T>(T) {
      result = elements_of(write == Write::add ? operands.in_out<T>(view) : operands.out<T>(view));
    });
  }
  return result;
}

AnyOperand operand(Operands& operands, const ConstView& view) {
  const Elements elements = read(operands, view);
  return {elements.data, elements.stride, elements.type};
}

ConstView matrix_of(const WeightView& weight) {
  return weight.packed == nullptr ? weight.matrix : dynamic_cast<const PackedFloats&>(*weight.packed).view();
}

FinishGradient gradient(Operands& operands, const View& d, Write write, double scale) {
  return {written(operands, d, write), write == Write::add, static_cast<float>(scale), d.columns()};
}

FinishForward finish_of(Operands& operands, const LinearForward& call) {
  FinishForward finish;
  finish.y = written(operands, call.y);
  finish.before = written(operands, call.before);
  finish.bias = read(operands, call.bias);
  finish.bias_of_rows = call.bias.rows() > 1;
  finish.activation = call.activation;
  finish.dropout = call.dropout;
  finish.dropout_scale = call.dropout.scale();
  finish.columns = call.y.columns();
  return finish;
}

}  // namespace

void linear(Context& context, const LinearForward& call) {
  Operands operands(context);
  const auto multiplied_by = [&]<class Weight>(const Weight* weight) {
    if (weight != nullptr && call.x.rows() > 0) {
      multiply_integers(context, read(operands, call.x), call.x.rows(), *weight, finish_of(operands, call));
    }
    return weight != nullptr;
  };
  if (multiplied_by(dynamic_cast<const PackedInt8*>(call.weight.packed)) ||
      multiplied_by(dynamic_cast<const PackedInt4*>(call.weight.packed))) {
    operands.finish();
    return;
  }
  const ConstView weight = matrix_of(call.weight);
  multiply_rows(
      context, {operand(operands, call.x), operand(operands, weight), {call.x.rows(), weight.rows(), weight.columns()}},
      call.weight.packed == nullptr ? Company::fixed : Company::any, finish_of(operands, call));
  operands.finish();
}

void linear_input_gradient(Context& context, const LinearInputGradient& call) {
  Operands operands(context);
  const ConstView weight = call.weight.matrix;
  multiply_rows_and_columns(
      context,
      {operand(operands, call.d_y), operand(operands, weight), {call.d_y.rows(), weight.columns(), weight.rows()}},
      gradient(operands, call.d_x, call.write, call.scale));
  operands.finish();
}

void linear_weight_gradient(Context& context, const LinearWeightGradient& call) {
  Operands operands(context);
  const AnyOperand d_y = operand(operands, call.d_y);
  if (!call.d_weight.empty()) {
    multiply_columns(context, {d_y, operand(operands, call.x), {call.d_y.columns(), call.x.columns(), call.d_y.rows()}},
                     gradient(operands, call.d_weight, call.write, call.scale));
  }
  if (!call.d_bias.empty()) {
    sum_columns(context, read(operands, call.d_y), call.d_y.rows(), call.d_y.columns(),
                gradient(operands, call.d_bias, call.write, call.scale));
  }
  operands.finish();
}

}  // namespace heed::cuda
