// What may only be read can't stand where a kernel writes.
#include "kernels/calls/elements.h"
#include "kernels/kernels.h"

using namespace heed;

void good(Backend& backend, ConstView x, View y) { backend.copy(x, y); }
SoftCapBackward good(ConstView y, View d_y) { return {.y = y, .d_y = d_y}; }

#ifdef HEED_BAD
// expect-error: cannot convert 'heed::ConstView' to 'heed::View'
// expect-error: could not convert '\{d_y, y\}' .*to 'heed::SoftCapBackward'
void swapped(Backend& backend, ConstView x, View y) { backend.copy(y, x); }
SoftCapBackward swapped(ConstView y, View d_y) { return {.y = d_y, .d_y = y}; }
#endif
