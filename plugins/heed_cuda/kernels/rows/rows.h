// Calls that look up, select, pool or normalize rows.
#pragma once

#include "heed_cuda/context.h"
#include "kernels/calls/norm.h"
#include "kernels/calls/rows.h"

namespace heed::cuda {

void embedding(Context& context, const EmbeddingForward& call);
void embedding_backward(Context& context, const EmbeddingBackward& call);
void select_rows(Context& context, const SelectRows& call);
void select_rows_backward(Context& context, const SelectRowsBackward& call);
void pool(Context& context, const PoolForward& call);
void pool_backward(Context& context, const PoolBackward& call);
void add_norm(Context& context, const AddNormForward& call);
void add_norm_backward(Context& context, const AddNormBackward& call);

}  // namespace heed::cuda
