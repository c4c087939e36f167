// The matrix of a weight as training multiplies it.
#pragma once

#include "ops/weight.h"

namespace heed {

// What a product reads: the weight itself or, of one that training holds packed, its values in elements of `type`, in
// memory that is given back with this.
class UnpackedWeight {
 public:
  UnpackedWeight(Backend& backend, const Weight& weight, DType type);

  WeightView view() const { return view_; }

 private:
  Tensor matrix_;
  WeightView view_;
};

}  // namespace heed
