// Where attention's backward writes its three gradients.
#pragma once

#include <vector>

#include "ops/attention/attention.h"

namespace heed {

// They may be columns of the same Var. The first contribution to a Var's gradient is written in place; when it has
// contributions already, or columns in two roles, the gradient is written to a separate tensor, which is then added.
class AttentionGradients {
 public:
  AttentionGradients(Backend& backend, const AttentionInputs& inputs);

  View queries() const { return view(0); }
  View keys() const { return view(1); }
  View values() const { return view(2); }
  // When all are written.
  void finish() const;

 private:
  struct Operand {
    Columns columns;
    bool begins_here;  // this is the first contribution to the Var's gradient
    Tensor own;
  };

  View view(size_t operand) const;
  void open(Columns columns);
  int64_t written_columns(const Var& var) const;

  Backend& backend_;
  std::vector<Operand> operands_;
};

}  // namespace heed
