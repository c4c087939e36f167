// What models learn from: sequences end to end, with what is expected of them.
#pragma once

#include "tensor/sequences.h"

namespace heed {

// Pairs of source and target sequences; the target as input (shifted right) and as expected output.
struct PairBatch {
  SourceSequences source;
  TargetSequences target;
  Targets expected;
};

// Sequences, and what is expected at each of their tokens, or of each text.
struct TokenBatch {
  Sequences tokens;
  Targets expected;
};

}  // namespace heed
