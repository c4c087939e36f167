// Dropout alone, in place. Most ops have their own; this is for the outputs of those that have none.
#pragma once

#include "ops/pass.h"
#include "ops/var.h"

namespace heed {

// Multiplies x by dropout's factors. In place: nothing else may have read x, nor need its former values in backward.
void drop(Pass& pass, const Var& x, const DropoutSite& site);

struct DropOp {
  Var x;
  Dropout dropout;

  void backward(Backend& backend) const;
};

}  // namespace heed
