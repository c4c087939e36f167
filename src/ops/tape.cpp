#include "ops/tape.h"

namespace heed {

void Tape::backward(Backend& backend, double scale) {
  while (!ops_.empty()) {
    std::visit(
        [&](const auto& op) {
          if constexpr (requires { op.backward(backend, scale); }) {
            op.backward(backend, scale);
          } else {
            op.backward(backend);
          }
        },
        ops_.back());
    ops_.pop_back();
  }
}

}  // namespace heed
