// The fused loss projects hidden states itself: logits would be projected twice.
#include "ops/loss.h"

using namespace heed;

TokenLosses good(Pass& pass, const Hidden& hidden, LinearWeights output, const Targets& targets) {
  return output_loss(pass, hidden, output, targets, Smoothing{0.1F});
}

#ifdef HEED_BAD
// expect-error: invalid initialization of reference of type 'const heed::Hidden
TokenLosses of_logits(Pass& pass, const Logits& logits, LinearWeights output, const Targets& targets) {
  return output_loss(pass, logits, output, targets, Smoothing{0.1F});
}
TokenLosses of_var(Pass& pass, const Var& var, LinearWeights output, const Targets& targets) {
  return output_loss(pass, var, output, targets, Smoothing{0.1F});
}
#endif
