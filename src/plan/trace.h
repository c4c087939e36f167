// The ops of a training step, as numbers: the bytes that each writes, reads and saves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heed {

enum class GradientsBegin : uint8_t { in_backward, in_forward };  // in_forward: those of a loss

// An op as src/ops records it on the tape. It holds its outputs and `saved_bytes` until its backward has run. Backward
// allocates the gradients of its inputs, unless a later op has done so, and they live as long as their values.
struct TracedOp {
  std::vector<size_t> inputs, outputs;  // indices into Trace::value_bytes
  int64_t saved_bytes = 0;
  // For a layer of which only inputs and outputs are saved: the ops that backward recomputes.
  std::vector<TracedOp> recomputed;
  int64_t transient_bytes = 0;           // while its forward runs
  int64_t backward_transient_bytes = 0;  // beside the gradients, while its backward runs
  GradientsBegin gradients_begin = GradientsBegin::in_backward;
};

struct Trace {
  std::vector<int64_t> value_bytes;
  std::vector<TracedOp> ops;

  // The most memory that forward and backward need at one moment.
  int64_t peak_bytes() const;
  // What forward keeps for backward.
  int64_t kept_bytes() const;
};

}  // namespace heed
