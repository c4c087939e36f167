// The position-wise layer: plain, W2 act(W1 x), or gated, W2 (act(Wg x) * (Wl x)). Of a model in parts each rank has
// some of the inner columns.
#pragma once

#include "nn/linear.h"
#include "ops/rows/gate.h"

namespace heed {

enum class Gating : uint8_t { plain, gated };

struct FeedForwardShape {
  int64_t model, inner;
  Activation activation = Activation::relu;
  Gating gating = Gating::plain;
  Bias bias = Bias::present;
  Probability dropout{0.0F};  // of the inner activation
  MatrixInitialization initialization;
};

class FeedForward {
 public:
  FeedForward(const Scope& scope, const FeedForwardShape& shape);
  Var operator()(Pass& pass, const Var& x) const;

 private:
  const Parts* parts_;
  FeedForwardShape shape_;  // of the whole
  DropoutSite dropout_;
  Linear inner_, output_;  // gated: inner_ is [gate | linear]
};

}  // namespace heed
