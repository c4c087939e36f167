// Which positions a token can change, layer after layer.
#pragma once

#include <vector>

#include "ops/attention/attention.h"

namespace heed {

// A sequence, and the position of the token that is changed in it.
struct ChangedToken {
  int64_t length, position;
};

// For each position of the sequence, whether a stack's output there may depend on the changed token: in each layer a
// position takes over what any of its heads sees. `visibility` is that of the layers, repeated.
std::vector<bool> reached_positions(const std::vector<VisibilityByHead>& visibility, int64_t layers,
                                    const ChangedToken& changed);

// The rows in which two matrices of one shape and type differ in at least one bit.
std::vector<int64_t> differing_rows(const ConstView& before, const ConstView& after);

}  // namespace heed
