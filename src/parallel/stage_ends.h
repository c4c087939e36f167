// What crosses the boundaries of a stage in one pass, when the layers of a model are divided among several ranks.
#pragma once

#include <array>
#include <cstdint>

#include "ops/var.h"

namespace heed {

enum class BoundaryTensor : uint8_t {
  residual,  // the stream between two layers
  normed,    // the same as the next layer reads it; only where it is another Var
  memory,    // the encoder's output
  source,    // embedded tokens: of the source, or of a model with one stream of tokens
  target,    // embedded tokens of the target
};
inline constexpr size_t kBoundaryTensors = 5;

// Inputs are leaves of the stage's tape: after backward they hold the gradients that go back. The gradients of outputs
// are set before backward. A memory that a stage reads and passes on is both.
class StageEnds {
 public:
  Var& in(BoundaryTensor what) { return in_[static_cast<size_t>(what)]; }
  Var& out(BoundaryTensor what) { return out_[static_cast<size_t>(what)]; }

 private:
  std::array<Var, kBoundaryTensors> in_, out_;
};

}  // namespace heed
