// Recipes for encoders: masked language models, and what labels texts and words.
#pragma once

#include <string>

#include "propose/proposal.h"

namespace heed {

// As propose_recipe(), but the recipe is only returned; what is kept for validation is written beside it.
std::string propose_masked_model(const ProposalOptions& options);
std::string propose_labels(const ProposalOptions& options);

}  // namespace heed
