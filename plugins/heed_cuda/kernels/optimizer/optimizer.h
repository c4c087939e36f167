// Calls of optimizers.
#pragma once

#include "heed_cuda/context.h"
#include "kernels/calls/optimizer.h"

namespace heed::cuda {

void squared_norms(Context& context, const ConstView& x, std::span<const ElementRange> ranges, const View& norms);
void sum(Context& context, const ConstView& x, const View& total);
void adam(Context& context, const AdamSweep& call);
void muon_direction(Context& context, const MuonDirection& call);
void muon_rows(Context& context, const MuonRows& call);
void muon_step(Context& context, const MuonStep& call);

}  // namespace heed::cuda
