// Two ops in place: dropout alone, and a soft cap, cap * tanh(x / cap).
#pragma once

#include "ops/pass.h"

namespace heed {

// How far logits or scores may grow; 0: as far as they like.
struct SoftCapAt {
  double value = 0.0;

  bool active() const { return value > 0.0; }
};

// Multiplies x by a mask of dropout. In place: nothing else may have read x, nor need its former values in backward.
void drop(Pass& pass, const Var& x, const DropoutSite& site);
// In place, like drop(). Does nothing where there is no cap.
void soft_cap(Pass& pass, const Var& x, SoftCapAt cap);

struct DropOp {
  Var x;
  Dropout dropout;

  void backward(Backend& backend) const;
};

struct SoftCapOp {
  Var y;
  double cap;

  void backward(Backend& backend) const;
};

}  // namespace heed
