// The linear layer: a product whose tiles get bias, activation and dropout while they are in cache; and its gradients.
#pragma once

#include "kernels/calls/linear.h"
#include "kernels/cpu/product/packed_weight.h"

namespace heed::cpu {

// The panels of W^T: packed ones, or packed now into the shared scratch.
AnyPanels panels_of_weight(Context& context, const WeightView& weight, Bf16Products products);

void linear(Context& context, Bf16Products products, const LinearForward& call);
void activation_backward(Context& context, const ActivationBackward& call);
void linear_input_gradient(Context& context, Bf16Products products, const LinearInputGradient& call);
void linear_weight_gradient(Context& context, Bf16Products products, const LinearWeightGradient& call);

}  // namespace heed::cpu
