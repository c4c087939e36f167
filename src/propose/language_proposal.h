// A recipe for language models.
#pragma once

#include <string>

#include "propose/proposal.h"

namespace heed {

// As propose_recipe(), but the recipe is only returned.
std::string propose_language_model(const ProposalOptions& options);

}  // namespace heed
