// x += y, for some columns x of what another op made.
#pragma once

#include "ops/pass.h"
#include "ops/var.h"

namespace heed {

// In place: nothing else may have read x.
void add_to_columns(Pass& pass, Columns x, const Var& y);

struct AddColumnsOp {
  Columns x;
  Var y;

  void backward(Backend& backend);
};

}  // namespace heed
