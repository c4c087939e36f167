// The fused loss projects hidden states itself: logits would be projected twice.
#include "ops/loss/loss.h"

using namespace heed;

TokenLosses good(Pass& pass, const Hidden& hidden, LinearWeights output, const Targets& targets) {
  return output_loss(pass, hidden, output, targets, Smoothing{0.1F});
}

#ifdef HEED_BAD
// expect-error: no matching function for call to 'output_loss\(heed::Pass&, const heed::Logits&
// expect-error: no matching function for call to 'output_loss\(heed::Pass&, const heed::Var&
TokenLosses of_logits(Pass& pass, const Logits& logits, LinearWeights output, const Targets& targets) {
  return output_loss(pass, logits, output, targets, Smoothing{0.1F});
}
TokenLosses of_var(Pass& pass, const Var& var, LinearWeights output, const Targets& targets) {
  return output_loss(pass, var, output, targets, Smoothing{0.1F});
}
#endif
