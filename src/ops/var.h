// Activations of a pass.
#pragma once

#include <memory>

#include "kernels/calls/write.h"
#include "kernels/kernels.h"

namespace heed {

// A shared handle to a matrix of activations and, in training, its gradient. The memory lives exactly as long as it may
// be read: in inference as long as the variable, in training until the tape's ops have run their backward.
class Var {
 public:
  Var() = default;
  Var(Tensor value, uint64_t first_row);

  // The same values, which both keep alive, with a gradient of its own.
  Var with_own_gradient() const;

  bool empty() const { return node_ == nullptr; }
  bool same_as(const Var& other) const { return node_ == other.node_; }
  View value() const { return node_->value->view(); }
  int64_t rows() const { return node_->value->shape().rows(); }
  int64_t columns() const { return node_->value->shape().columns(); }
  DType type() const { return node_->value->type(); }
  uint64_t first_row() const { return node_->first_row; }  // index of row 0 in the whole batch

  // Whether it depends on anything that is trained: otherwise ops need not compute its gradient. True until the op that
  // made it says otherwise.
  bool wants_gradient() const { return node_->wanted; }
  void want_gradient_only_if(bool wanted) { node_->wanted = wanted; }

  // The gradient so far; empty when nothing has contributed, which means zero.
  View gradient() const { return node_->gradient.view(); }

  // Where to write a contribution, and how: the first overwrites fresh memory, the others add.
  struct Slot {
    View view;
    Write write;
  };
  Slot gradient_slot(Backend& backend);
  void take_gradient_of(Var& other);  // moves it here
  void set_gradient(Tensor gradient);

 private:
  struct Node {
    std::shared_ptr<const Tensor> value;
    Tensor gradient;
    uint64_t first_row;
    bool wanted = true;
  };
  std::shared_ptr<Node> node_;
};

// Some neighbouring columns of a Var: queries, keys and values of one fused projection.
struct Columns {
  Var var;
  int64_t first = 0, count = 0;

  static Columns all(const Var& var) { return {var, 0, var.columns()}; }
  View value() const { return var.value().column_range(first, count); }
};

}  // namespace heed
