// Muon: the direction of its step, and the step.
#pragma once

#include "kernels/calls/optimizer.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void muon_direction(Context& context, const MuonDirection& call);
void muon_rows(Context& context, const MuonRows& call);
void muon_step(Context& context, const MuonStep& call);

}  // namespace heed::cpu
