#include "heed/merge.h"

#include <memory>

#include "cli/commands.h"

namespace heed::cli {

Command merge_command() {
  const auto options = std::make_shared<MergeOptions>();
  return {
      .name = "merge",
      .summary = "make a plain model of an adapter and its base",
      .options = {required(option("--adapter DIR", options->adapter, "the directory of a run that trained adapters")),
                  option("--model DIR", options->model, "its base; by default where it was when the run began"),
                  required(option("--out DIR", options->output, "the model directory to write"))},
      .run = [options] { merge(*options); },
  };
}

}  // namespace heed::cli
