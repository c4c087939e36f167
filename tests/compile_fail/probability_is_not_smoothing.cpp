// Two numbers in [0, 1) with different roles: one drops and the other smooths.
#include "ops/loss/loss.h"

using namespace heed;

TokenLosses good(Pass& pass, const Logits& logits, const Targets& targets) {
  return cross_entropy(pass, logits, targets, Smoothing{0.1F});
}
DropoutSite good_site() { return {RandomKey{}, Probability{0.1F}}; }

#ifdef HEED_BAD
// expect-error: could not convert .* to '(heed::Smoothing|heed::DropoutSite|Strong<heed::SmoothingTag)
TokenLosses probability_for_smoothing(Pass& pass, const Logits& logits, const Targets& targets) {
  return cross_entropy(pass, logits, targets, Probability{0.1F});
}
TokenLosses number_for_smoothing(Pass& pass, const Logits& logits, const Targets& targets) {
  return cross_entropy(pass, logits, targets, 0.1F);
}
DropoutSite smoothing_for_probability() { return {RandomKey{}, Smoothing{0.1F}}; }
DropoutSite number_for_probability() { return {RandomKey{}, 0.1F}; }
#endif
