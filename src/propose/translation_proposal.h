// A recipe for translations.
#pragma once

#include <string>

#include "propose/proposal.h"

namespace heed {

// As propose_recipe(), but the recipe is only returned.
std::string propose_translation(const ProposalOptions& options);

}  // namespace heed
