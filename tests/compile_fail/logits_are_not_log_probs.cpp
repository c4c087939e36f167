// A loss of logits accepts neither log-probabilities, nor hidden states, nor a plain Var.
#include "ops/loss/loss.h"

using namespace heed;

TokenLosses good(Pass& pass, const Logits& logits, const Targets& targets) {
  return cross_entropy(pass, logits, targets, Smoothing{0.1F});
}

#ifdef HEED_BAD
// expect-error: invalid initialization of reference of type 'const heed::Logits
TokenLosses of_log_probs(Pass& pass, const LogProbs& log_probs, const Targets& targets) {
  return cross_entropy(pass, log_probs, targets, Smoothing{0.1F});
}
TokenLosses of_hidden(Pass& pass, const Hidden& hidden, const Targets& targets) {
  return cross_entropy(pass, hidden, targets, Smoothing{0.1F});
}
TokenLosses of_var(Pass& pass, const Var& var, const Targets& targets) {
  return cross_entropy(pass, var, targets, Smoothing{0.1F});
}
#endif
