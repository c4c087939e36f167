#include "heed/prepare.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/output/standard_output.h"

namespace heed::cli {
namespace {

void run_prepare(const PrepareOptions& options) {
  constexpr double kPreparedUnit = 1e6;  // bytes of a megabyte
  const PrepareResult result = prepare(options);
  if (result.rank != 0) {
    return;
  }
  write_output(fmt::format("training text: {}\nprepared in {:.1f} s: {:.1f} MB in {}; heed train {} --prepared {}\n",
                           result.text, result.seconds, static_cast<double>(result.bytes) / kPreparedUnit,
                           options.output, options.recipe, options.output));
}

}  // namespace

Command prepare_command() {
  const auto options = std::make_shared<PrepareOptions>();
  return {
      .name = "prepare",
      .summary = "tokenize a recipe's text once, so that training starts at once",
      .options = {required(option("RECIPE", options->recipe, "a recipe, in TOML")),
                  required(option("--out DIR", options->output, "the folder to write, which must not exist")),
                  option("--set TABLE.KEY=VALUE", options->overrides, "override a setting of the recipe"),
                  option("--threads N", options->threads, "threads to use; 0: one per processor")},
      .processes = Processes::several,
      .run = [options] { run_prepare(*options); },
  };
}

}  // namespace heed::cli
