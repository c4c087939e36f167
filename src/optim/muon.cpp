#include "optim/muon.h"

#include <algorithm>

namespace heed {
namespace {

constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;

View part(const Tensor& memory, int64_t rows, int64_t columns) {
  return {host_address(memory.view()), memory.type(), rows, columns, columns};
}

void grow(Tensor& memory, int64_t elements, DType type) {
  if (memory.empty() || memory.shape().elements() < elements || memory.type() != type) {
    memory = Tensor({elements}, type);
  }
}

}  // namespace

void NewtonSchulz::reserve(Backend& backend, const View& x) {
  const int64_t side = std::min(x.rows(), x.columns());
  grow(gram_, side * side, x.type());
  grow(square_, side * side, x.type());
  grow(next_, x.elements(), x.type());
  grow(gram_sum_, side * side, backend.master_type());
}

void NewtonSchulz::orthogonalize(Backend& backend, const View& x) {
  reserve(backend, x);
  const bool tall = x.rows() > x.columns();
  const int64_t side = std::min(x.rows(), x.columns());
  const View gram = part(gram_, side, side), square = part(square_, side, side);
  const View next = part(next_, x.rows(), x.columns()), gram_sum = part(gram_sum_, side, side);
  for (int step = 0; step < kSteps; ++step) {
    if (tall) {
      backend.linear_weight_gradient({.d_y = x, .x = x, .d_weight = gram_sum, .d_bias = {}});
      backend.copy(gram_sum, gram);
    } else {
      backend.linear({.x = x, .weight = {x}, .bias = {}, .dropout = {}, .y = gram, .before = {}});
    }
    // A is symmetric: A A^T is its square.
    backend.linear({.x = gram, .weight = {gram}, .bias = {}, .dropout = {}, .y = square, .before = {}});
    backend.scale(gram, kB);
    backend.scale(square, kC);
    backend.add(square, gram);
    if (tall) {
      backend.linear({.x = x, .weight = {gram}, .bias = {}, .dropout = {}, .y = next, .before = {}});
    } else {
      backend.linear_input_gradient({.d_y = gram, .weight = {x}, .d_x = next});
    }
    backend.scale(x, kA);
    backend.add(next, x);
  }
}

}  // namespace heed
