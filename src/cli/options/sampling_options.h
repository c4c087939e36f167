// Options of commands that draw texts from a model.
#pragma once

#include <vector>

#include "command_line/command.h"
#include "heed/types/generation.h"

namespace heed::cli {

std::vector<Option> sampling_options(SamplingOptions& sampling);

}  // namespace heed::cli
