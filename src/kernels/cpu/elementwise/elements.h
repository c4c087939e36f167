// Element-wise helpers and reductions over flat memory.
#pragma once

#include "kernels/calls/optimizer.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

void fill(Context& context, const View& x, double value);
void copy(Context& context, const ConstView& from, const View& to);
void add(Context& context, const ConstView& x, const View& into);
void scale(Context& context, const View& x, double factor);
void blend(Context& context, const ConstView& from, const View& into, double share);
void squared_norms(Context& context, const ConstView& x, std::span<const ElementRange> ranges, const View& norms);
void sum(const ConstView& x, const View& total);

}  // namespace heed::cpu
