#include "ops/var.h"

#include <utility>

namespace heed {

Var::Var(Tensor value, uint64_t first_row)
    : node_(std::make_shared<Node>(Node{std::make_shared<const Tensor>(std::move(value)), Tensor(), first_row, true})) {
}

Var Var::with_own_gradient() const {
  Var other;
  other.node_ = std::make_shared<Node>(Node{node_->value, Tensor(), node_->first_row, node_->wanted});
  return other;
}

Var::Slot Var::gradient_slot(Backend& backend) {
  if (!node_->gradient.empty()) {
    return {node_->gradient.view(), Write::add};
  }
  node_->gradient = Tensor({rows(), columns()}, type(), backend.arena());
  return {node_->gradient.view(), Write::overwrite};
}

void Var::take_gradient_of(Var& other) { node_->gradient = std::move(other.node_->gradient); }

void Var::set_gradient(Tensor gradient) { node_->gradient = std::move(gradient); }

}  // namespace heed
