// The log-probabilities that a model, or an ensemble, gives to known tokens.
#pragma once

#include <vector>

#include "models/any_model.h"

namespace heed {

// The log-probability of each row's target, 0 where it is to be ignored; of an ensemble the log of the models' mean. If
// the inference caches keys and values in another type than it computes in, these are rounded as they are when text is
// written.
std::vector<double> log_probs_of_targets(const Inference& inference, const PairBatch& batch);
std::vector<double> log_probs_of_targets(const Inference& inference, const TokenBatch& batch);

}  // namespace heed
