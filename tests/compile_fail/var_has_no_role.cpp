// A Var gets a role by saying so, and roles do not turn into each other.
#include "ops/roles.h"

using namespace heed;

Logits good(const Var& var) { return Logits(var); }

#ifdef HEED_BAD
// expect-error: could not convert .* to '(heed::Logits|Role<heed::(LogProbs|Hidden)Tag>)'
Logits logits_of(const Var& var) { return var; }
LogProbs log_probs_of(const Logits& logits) { return logits; }
Hidden hidden_of(const LogProbs& log_probs) { return log_probs; }
#endif
