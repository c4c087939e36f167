// y = dropout(act(x W^T + b)).
#pragma once

#include "nn/weights/weights.h"
#include "ops/rows/linear.h"

namespace heed {

enum class Bias : uint8_t { none, present };

// What ranks that hold a model in parts divide among them: the rows of W, so that each computes some columns of y from
// the whole x; or the columns of W, so that each multiplies some columns of x, and y is the sum over the ranks.
enum class Divided : uint8_t { none, outputs, inputs };

class Linear {
 public:
  struct Options {
    int64_t inputs, outputs;  // of the whole
    Bias bias = Bias::present;
    Initialization initialization = Initialization::xavier_uniform();
    LinearOptions op;  // activation and dropout; none where the inputs are divided
    Divided divided = Divided::none;
    WeightRoles roles = {};  // of the outputs; several: matrices that are stacked in one, each divided on its own
  };

  Linear(const Scope& scope, const Options& options);

  Var operator()(Pass& pass, const Var& x) const;
  LinearWeights weights() const { return weights_; }

 private:
  const Parts* summed_over_;  // of divided inputs; null where there is nothing to sum
  LinearWeights weights_;
  LinearOptions op_;
};

}  // namespace heed
