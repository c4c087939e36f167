// A soft cap, cap * tanh(x / cap), in place.
#pragma once

#include "ops/pass.h"
#include "ops/var.h"

namespace heed {

// How far logits or scores may grow; 0: as far as they like.
struct SoftCapAt {
  double value = 0.0;

  bool active() const { return value > 0.0; }
};

// In place: nothing else may have read x, nor need its former values in backward. Does nothing where there is no cap.
void soft_cap(Pass& pass, const Var& x, SoftCapAt cap);

struct SoftCapOp {
  Var y;
  double cap;

  void backward(Backend& backend) const;
};

}  // namespace heed
