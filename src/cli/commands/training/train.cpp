#include "heed/train.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include "cli/commands.h"
#include "cli/options/given_options.h"
#include "cli/options/proposal_options.h"
#include "cli/output/train_display.h"
#include "heed/errors.h"
#include "heed/ranks.h"
#include "propose/proposal.h"

namespace heed::cli {
namespace {

// A run by a recipe of the user's, or by one that is made for a text.
struct TrainRequest {
  TrainOptions train;
  ProposalOptions text;
  GivenOptions given;  // those of the text
};

// The recipe that text alone leads to, beside the model directory. A run that is resumed has one.
std::string recipe_for_text(const TrainOptions& options, ProposalOptions text) {
  if (!rank_of_job().is_alone()) {
    throw std::runtime_error("train: several ranks need a RECIPE, such as heed recipe writes");
  }
  text.output = std::filesystem::path(options.output + "/").parent_path().string() + ".toml";
  text.threads = options.threads;
  if (options.start == TrainStart::resume) {
    if (!std::filesystem::exists(text.output)) {
      throw ConfigError(fmt::format("{}: holds no run to resume: there is no {}", options.output, text.output));
    }
    return text.output;
  }
  if (std::filesystem::is_regular_file(options.output)) {
    throw std::runtime_error(fmt::format("train: {} is a file, expected a folder to write", options.output));
  }
  if (std::filesystem::exists(text.output)) {
    throw std::runtime_error(
        fmt::format("train: {0} is there already: heed train {0} --out {1} trains by it, and "
                    "--resume continues a run",
                    text.output, options.output));
  }
  propose_recipe(text);
  return text.output;
}

void run_training(const TrainRequest& request) {
  TrainOptions options = request.train;
  const std::set<std::string>& given = request.given.names();
  TrainDisplay display;
  if (options.recipe.empty()) {
    options.recipe = recipe_for_text(options, request.text);
    display.on_message(fmt::format("the recipe and its reasons are in {}", options.recipe));
  } else if (!given.empty()) {
    throw ConfigError(
        fmt::format("train: {0} serves to make a recipe: leave out either RECIPE or {0}", *given.begin()));
  }
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
  const auto request = std::make_shared<TrainRequest>();
  TrainOptions* const options = &request->train;
  Command command{
      .name = "train",
      .summary = "train a model as a recipe says, or from text alone",
      .options = {option("RECIPE", options->recipe,
                         "a recipe, in TOML; left out: one is made for the text, as heed recipe does"),
                  required(option("--out DIR", options->output, "the model directory to write")),
                  option("--set TABLE.KEY=VALUE", options->overrides, "override a setting of the recipe"),
                  option("--prepared DIR", options->prepared, "use the corpus that heed prepare made, not the text"),
                  option("--layout LAYOUT", options->layout,
                         "how ranks share the training: copies, stages and parts, such as data=2,pipeline=2,tensor=1"),
                  flag("--resume", options->start, TrainStart::resume, "continue the run in the directory"),
                  option("--threads N", options->threads, "threads to use; 0: one per processor"),
                  option("--device NAME", options->device, "cpu, cuda, or cuda:N for another NVIDIA GPU")},
      .processes = Processes::several,
      .run = [request] { run_training(*request); },
  };
  for (Option& option : request->given.noted(text_options(request->text))) {
    command.options.push_back(std::move(option));
  }
  return command;
}

}  // namespace heed::cli
