// The options that name the text which a recipe is made for.
#pragma once

#include <vector>

#include "command_line/command.h"
#include "propose/proposal.h"

namespace heed::cli {

std::vector<Option> text_options(ProposalOptions& options);

}  // namespace heed::cli
