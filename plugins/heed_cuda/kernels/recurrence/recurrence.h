// Calls of linear attention and of the simpler simple recurrent unit.
#pragma once

#include "heed_cuda/context.h"
#include "kernels/calls/linear_attention.h"
#include "kernels/calls/ssru.h"

namespace heed::cuda {

void linear_attention(Context& context, const LinearAttentionForward& call);
void linear_attention_backward(Context& context, const LinearAttentionBackward& call);
void fold_linear_attention(Context& context, const LinearAttentionFold& call);
void ssru(Context& context, const SsruForward& call);
void ssru_backward(Context& context, const SsruBackward& call);

}  // namespace heed::cuda
