#include "ops/tape.h"

namespace heed {

void Tape::record(Op op) {
  ops_.push_back(std::move(op));
  if (observer_ != nullptr) {
    observer_->recorded(ops_.back());
  }
}

void Tape::run_last(Backend& backend) {
  std::visit([&](auto& op) { op.backward(backend); }, ops_.back());
  ops_.pop_back();
}

}  // namespace heed
