// Options of commands that draw texts from a model.
#pragma once

#include <vector>

#include "cli/options/given_options.h"
#include "command_line/command.h"
#include "heed/types/generation.h"

namespace heed::cli {

std::vector<Option> sampling_options(SamplingOptions& sampling);

// Options that were not given take the model's defaults; those of sampling only where nothing is searched with a beam.
void take_defaults(const GivenOptions& given, const GenerationOptions& of_model, GenerationOptions& options);

}  // namespace heed::cli
