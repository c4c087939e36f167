#include "heed/train.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/train_display.h"

namespace heed::cli {

void add_train(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("train", "train a translation model from a recipe");
  const auto options = std::make_shared<TrainOptions>();
  const auto resume = std::make_shared<bool>(false);
  command->add_option("RECIPE", options->recipe, "a recipe, in TOML")->required();
  command->add_option("--out", options->output, "the model directory")->required();
  command->add_option("--set", options->overrides, "table.key=value, instead of what the recipe says; repeatable")
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("--resume", *resume, "go on where a run in the directory stopped");
  command->add_option("--threads", options->threads, "0: one per processor")->capture_default_str();
  command->callback([options, resume] {
    options->start = *resume ? TrainStart::resume : TrainStart::fresh;
    TrainDisplay display;
    const TrainResult result = train(*options, display);
    display.on_message(
        result.reason == "stopped"
            ? fmt::format("stopped; the model so far is in {}, and the same command with --resume goes on",
                          options->output)
            : fmt::format("ended by {}; the model is in {}", result.reason, options->output));
  });
}

}  // namespace heed::cli
