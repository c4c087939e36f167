// Inputs are not targets: a model trained on its own inputs learns to copy.
#include "ops/loss/loss.h"

using namespace heed;

TokenLosses good(Pass& pass, const Logits& logits, const Targets& targets) {
  return cross_entropy(pass, logits, targets, Smoothing{0.1F});
}

#ifdef HEED_BAD
// expect-error: invalid initialization of reference of type 'const heed::Targets
TokenLosses bad(Pass& pass, const Logits& logits, const Tokens& tokens) {
  return cross_entropy(pass, logits, tokens, Smoothing{0.1F});
}
#endif
