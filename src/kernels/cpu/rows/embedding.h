// Rows of the embedding and position tables, and the scatter of their gradients.
#pragma once

#include "kernels/calls/rows.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void embedding(Context& context, const EmbeddingForward& call);
void embedding_backward(Context& context, const EmbeddingBackward& call);

}  // namespace heed::cpu
