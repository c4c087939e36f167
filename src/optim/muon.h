// Muon: updates the matrices of hidden layers along orthogonal directions.
#pragma once

#include "kernels/kernels.h"

namespace heed {

// Brings the singular values of a matrix close to 1, in place, by five steps of a Newton-Schulz iteration,
//   X <- a X + (b A + c A^2) X,  A = X X^T        a = 3.4445, b = -4.7750, c = 2.0315
// whose coefficients are chosen for speed: for a matrix of norm 1, all singular values that are not tiny end between
// 0.7 and 1.2. A matrix with more rows than columns is multiplied from the other side, A = X^T X, which is the smaller
// product. Reuses its scratch memory between calls.
class NewtonSchulz {
 public:
  static constexpr int kSteps = 5;

  void orthogonalize(Backend& backend, const View& x);

 private:
  void reserve(Backend& backend, const View& x);

  Tensor gram_, square_, next_, gram_sum_;  // of the largest matrix so far
};

}  // namespace heed
