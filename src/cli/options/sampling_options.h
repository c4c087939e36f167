// Options of commands that draw texts from a model.
#pragma once

#include <fmt/format.h>

#include <vector>

#include "cli/options/given_options.h"
#include "command_line/command.h"
#include "heed/errors.h"
#include "heed/types/writing/generation.h"

namespace heed::cli {

std::vector<Option> sampling_options(SamplingOptions& sampling);

// Options that were not given take the model's defaults; those of sampling only where nothing is searched with a beam.
void take_defaults(const GivenOptions& given, const GenerationOptions& of_model, GenerationOptions& options);

// Does the work. Where a prompt is too long, the message names the option that cuts it.
template <class Work>
auto naming_cut_prompt(const Work& work) {
  try {
    return work();
  } catch (const TooLongError& error) {
    throw TooLongError(fmt::format("{} (--cut-prompt)", error.what()));
  }
}

}  // namespace heed::cli
