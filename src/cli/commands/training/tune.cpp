#include "tune/tune.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/output/train_display.h"

namespace heed::cli {
namespace {

// Where lines stay, those of single updates would bury the tables.
class TuneDisplay final : public TrainDisplay {
 public:
  void on_status(const TrainStatus& status) override {
    if (is_on_terminal()) {
      TrainDisplay::on_status(status);
    }
  }
};

void run_tuning(const TuneOptions& options) {
  TuneDisplay display;
  const TuneResult result = tune(options, display);
  if (result.end == TuneEnd::stopped) {
    display.on_message(
        fmt::format("stopped; the same command with --resume goes on with what is in {}", options.output));
    return;
  }
  if (result.end == TuneEnd::minutes) {
    display.on_message("the same command with --resume and more --minutes goes on");
  }
  display.on_message(fmt::format("the best recipe is in {}, its model in {}, all trials on one page in {}",
                                 result.recipe, result.model, result.page));
}

}  // namespace

Command tune_command() {
  const auto options = std::make_shared<TuneOptions>();
  return {
      .name = "tune",
      .summary = "train by several variants of a recipe side by side, and keep the best",
      .options = {required(option("RECIPE", options->recipe, "a recipe, in TOML")),
                  required(option("--out DIR", options->output, "the folder to write: trials, best recipe, page")),
                  option("--minutes N", options->minutes, "that all trials together may take"),
                  option(
                      "--vary TABLE.KEY=A,B,C", options->varied,
                      "try these values of a setting, in all combinations with others; left out: what rules suggest"),
                  option("--set TABLE.KEY=VALUE", options->overrides, "override a setting of the recipe"),
                  flag("--resume", options->start, TrainStart::resume, "go on with the tuning in the folder"),
                  option("--threads N", options->threads, "threads to use; 0: one per processor"),
                  option("--device NAME", options->device, "cpu, cuda, or cuda:N for another NVIDIA GPU")},
      .run = [options] { run_tuning(*options); },
      .footer = "Example:\n  heed tune recipe.toml --minutes 120 --vary schedule.peak=0.001,0.002,0.004 --out tuned",
  };
}

}  // namespace heed::cli
