// Options of commands that draw texts from a model.
#pragma once

#include <vector>

#include "cli/options/given_options.h"
#include "command_line/command.h"
#include "heed/types/generation.h"

namespace heed::cli {

std::vector<Option> sampling_options(SamplingOptions& sampling);

// What was not given takes the model's default. Beam search has no use for those of sampling.
void take_defaults(const GivenOptions& given, const GenerationOptions& of_model, GenerationOptions& options);

}  // namespace heed::cli
