// y[r] = x[rows[r]].
#pragma once

#include <span>

#include "ops/pass.h"
#include "ops/var.h"

namespace heed {

// `rows` may be in any order, name a row several times or leave it out; there is at least one. Each is checked against
// x. y's rows are numbered from x's first row on, so draws after this op do not depend on which row was selected.
Var select_rows(Pass& pass, const Var& x, std::span<const int32_t> rows);

struct SelectRowsOp {
  Var x, y;
  Tensor rows;

  void backward(Backend& backend);
};

}  // namespace heed
