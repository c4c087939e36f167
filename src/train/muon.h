// Muon: the matrices of hidden layers are moved along orthogonal directions.
#pragma once

#include "kernels/kernels.h"

namespace heed {

// Brings the singular values of a matrix close to 1, in place, by five steps of an iteration of Newton and Schulz,
//   X <- a X + (b A + c A^2) X,  A = X X^T        a = 3.4445, b = -4.7750, c = 2.0315
// whose coefficients are chosen for speed: those of a matrix of norm 1 that are not tiny end between 0.7 and 1.2. A matrix
// that is taller than wide is multiplied from the other side, A = X^T X, which is the smaller product. Keeps its scratch
// memory between calls.
class NewtonSchulz {
 public:
  static constexpr int kSteps = 5;

  void orthogonalize(Backend& backend, const View& x);

 private:
  void reserve(Backend& backend, const View& x);

  Tensor gram_, square_, next_, gram_sum_;  // of the largest matrix so far
};

}  // namespace heed
