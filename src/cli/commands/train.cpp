#include "heed/train.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/output/train_display.h"

namespace heed::cli {
namespace {

void run_training(const TrainOptions& options) {
  TrainDisplay display;
  const TrainResult result = train(options, display);
  if (result.rank != 0) {
    return;
  }
  display.on_message(
      result.reason == EndReason::stopped
          ? fmt::format("stopped; the model so far is in {}, and the same command with --resume continues",
                        options.output)
          : fmt::format("ended by {}; the model is in {}", name_of(result.reason), options.output));
}

}  // namespace

Command train_command() {
  const auto options = std::make_shared<TrainOptions>();
  return {
      .name = "train",
      .summary = "train a model as a recipe says",
      .options = {required(option("RECIPE", options->recipe, "a recipe, in TOML")),
                  required(option("--out DIR", options->output, "the model directory to write")),
                  option("--set TABLE.KEY=VALUE", options->overrides, "override a setting of the recipe"),
                  option("--prepared DIR", options->prepared, "use the corpus that heed prepare made, not the text"),
                  option("--layout LAYOUT", options->layout,
                         "how ranks share the training: copies, stages and parts, such as data=2,pipeline=2,tensor=1"),
                  flag("--resume", options->start, TrainStart::resume, "continue the run in the directory"),
                  option("--threads N", options->threads, "threads to use; 0: one per processor"),
                  option("--device NAME", options->device, "cpu, cuda, or cuda:N for another NVIDIA GPU")},
      .processes = Processes::several,
      .run = [options] { run_training(*options); },
  };
}

}  // namespace heed::cli
