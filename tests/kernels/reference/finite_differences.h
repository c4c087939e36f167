// Gradients against central differences, in double.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/backend_testing.h"

namespace heed::test {

// sum of a * b: what a function's result `a` contributes to the objective under the upstream gradient `b`.
inline double dot(const Guarded& a, const Guarded& b) {
  double sum = 0.0;
  for (int64_t r = 0; r < a.rows(); ++r) {
    for (int64_t c = 0; c < a.columns(); ++c) {
      sum += a.get(r, c) * b.get(r, c);
    }
  }
  return sum;
}

// Whether `gradient` is d objective() / d x for every element of x. `before`, where given, is what the gradient was
// added to.
template <class Objective>
::testing::AssertionResult is_gradient(const Guarded& gradient, const Guarded& x, Objective&& objective,
                                       const Guarded& before = {}) {
  constexpr double kStep = 1e-5;
  if (gradient.rows() != x.rows() || gradient.columns() != x.columns()) {
    return ::testing::AssertionFailure() << gradient.view().text() << " for " << x.view().text();
  }
  double largest = 0.0;
  for (int64_t r = 0; r < x.rows(); ++r) {
    for (int64_t c = 0; c < x.columns(); ++c) {
      const double value = x.get(r, c);
      x.set(r, c, value + kStep);
      const double above = objective();
      x.set(r, c, value - kStep);
      const double below = objective();
      x.set(r, c, value);
      const double expected = (above - below) / (2.0 * kStep);
      const double found = gradient.get(r, c) - (before.empty() ? 0.0 : before.get(r, c));
      if (!(std::abs(found - expected) <= 1e-7 * (1.0 + std::abs(expected)))) {
        return ::testing::AssertionFailure()
               << "at (" << r << ", " << c << ") the gradient is " << found << ", the difference " << expected;
      }
      largest = std::max(largest, std::abs(expected));
    }
  }
  if (largest == 0.0) {
    return ::testing::AssertionFailure() << "the objective does not depend on this operand: nothing was checked";
  }
  if (!gradient.untouched()) {
    return ::testing::AssertionFailure() << "memory outside of the gradient was written to";
  }
  return ::testing::AssertionSuccess();
}

}  // namespace heed::test
