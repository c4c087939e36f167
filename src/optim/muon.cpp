// Five steps have the same coefficients, which are chosen for speed: singular values from 0.002 on end between 0.68 and
// 1.21, one of 0.001 at 0.47. Of three steps, each is the polynomial with the smallest largest error on the range in
// which the one before leaves the singular values, for values from 0.01 on: they end within 0.27 of 1. Smaller ones
// grow 78 times. So three steps neglect small singular values and take three fifths of the time.
#include "optim/muon.h"

#include <algorithm>
#include <span>

#include "kernels/calls/linear.h"

namespace heed {
namespace {

struct Polynomial {
  double a, b, c;
};
constexpr Polynomial kFast{3.4445, -4.7750, 2.0315};
constexpr Polynomial kSteps[kOrthogonalizationSteps] = {kFast, kFast, kFast, kFast, kFast};
constexpr Polynomial kFewSteps[kFewOrthogonalizationSteps] = {
    {8.0934, -23.6204, 17.4462}, {3.6366, -2.7219, 0.5365}, {2.6613, -1.9772, 0.4526}};

std::span<const Polynomial> polynomials(int64_t steps) {
  ensure(steps == kOrthogonalizationSteps || steps == kFewOrthogonalizationSteps, "muon", "{} steps", steps);
  return steps == kOrthogonalizationSteps ? std::span<const Polynomial>(kSteps) : kFewSteps;
}

// A = X X^T, or X^T X of a tall X. `sum` has its size, in the master type, where X is tall.
void gram_matrix(Backend& backend, const ConstView& x, const View& sum, const View& gram) {
  if (sum.empty()) {
    return backend.linear({.x = x, .weight = {x}, .bias = {}, .dropout = {}, .y = gram, .before = {}});
  }
  backend.linear_weight_gradient({.d_y = x, .x = x, .d_weight = sum, .d_bias = {}});
  backend.copy(sum, gram);
}

}  // namespace

void orthogonalize(Backend& backend, const View& x, int64_t steps) {
  const bool tall = x.rows() > x.columns();
  const int64_t side = std::min(x.rows(), x.columns());
  const auto matrix = [&](int64_t rows, int64_t columns, DType type) {
    return Tensor({rows, columns}, type, backend.arena());
  };
  const Tensor gram_memory = matrix(side, side, x.type()), square_memory = matrix(side, side, x.type());
  const Tensor next_memory = matrix(x.rows(), x.columns(), x.type());
  const Tensor sum = tall ? matrix(side, side, backend.master_type()) : Tensor();
  const View gram = gram_memory.view(), square = square_memory.view(), next = next_memory.view();
  for (const auto& [a, b, c] : polynomials(steps)) {
    gram_matrix(backend, x, sum.view(), gram);
    // A is symmetric: A A^T is its square.
    backend.linear({.x = gram, .weight = {gram}, .bias = {}, .dropout = {}, .y = square, .before = {}});
    backend.scale(gram, b);
    backend.scale(square, c);
    backend.add(square, gram);
    if (tall) {
      backend.linear({.x = x, .weight = {gram}, .bias = {}, .dropout = {}, .y = next, .before = {}});
    } else {
      backend.linear_input_gradient({.d_y = gram, .weight = {x}, .d_x = next});
    }
    backend.scale(x, a);
    backend.add(next, x);
  }
}

}  // namespace heed
