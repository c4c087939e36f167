#include "ops/var.h"

#include <utility>

namespace heed {

Var::Var(Tensor value, uint64_t first_row)
    : node_(std::make_shared<Node>(Node{std::move(value), Tensor(), first_row, true})) {}

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
