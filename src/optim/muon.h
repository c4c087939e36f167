// Muon: updates the matrices of hidden layers along orthogonal directions.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace heed {

// How many steps bring a matrix close to an orthogonal one: kFewOrthogonalizationSteps or kOrthogonalizationSteps.
constexpr int64_t kOrthogonalizationSteps = 5, kFewOrthogonalizationSteps = 3;

// Brings the singular values of a matrix of norm 1 close to 1, in place, by `steps` steps of
//   X <- a X + (b A + c A^2) X,  A = X X^T
// which applies the polynomial a s + b s^3 + c s^5 to each singular value s. A matrix with more rows than columns is
// multiplied from the other side, A = X^T X, which is the smaller product.
void orthogonalize(Backend& backend, const View& x, int64_t steps = kOrthogonalizationSteps);

}  // namespace heed
