// Runs a test's body on operands whose rows begin anywhere, and on those that kernels can move 16 bytes at a time.
#pragma once

#include "kernels/backend_testing.h"

namespace heed::test {

template <class Body>
void with_each_layout(Body&& body) {
  {
    SCOPED_TRACE("rows begin anywhere");
    body();
  }
  SCOPED_TRACE("rows begin at multiples of 16 bytes");
  const AlignedOperands aligned;
  body();
}

// Around the elements that a thread takes, and those of a warp.
inline constexpr int64_t kPackColumns[] = {1, 3, 4, 7, 8, 9, 33, 257};

}  // namespace heed::test
