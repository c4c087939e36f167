// Calls that work on each element, or pair of elements, by itself.
#pragma once

#include "heed_cuda/context.h"
#include "kernels/calls/activation.h"
#include "kernels/calls/elements.h"

namespace heed::cuda {

void fill(Context& context, View x, double value);
void copy(Context& context, const ConstView& from, const View& to);
void add(Context& context, const ConstView& x, const View& into);
void scale(Context& context, const View& x, double factor);
void blend(Context& context, const ConstView& from, const View& into, double share);
void sum_parts(Context& context, const SumParts& call);
void activation_backward(Context& context, const ActivationBackward& call);
void gate(Context& context, const GateForward& call);
void gate_backward(Context& context, const GateBackward& call);
void rotate(Context& context, const Rotation& call);
void drop(Context& context, const Drop& call);
void soft_cap(Context& context, const SoftCap& call);
void soft_cap_backward(Context& context, const SoftCapBackward& call);

}  // namespace heed::cuda
