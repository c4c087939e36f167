#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/options/proposal_options.h"
#include "cli/output/standard_output.h"
#include "propose/proposal.h"

namespace heed::cli {

Command recipe_command() {
  const auto options = std::make_shared<ProposalOptions>();
  Command command{
      .name = "recipe",
      .summary = "write a recipe for your text, your time and this machine, with its reasons",
      .options = text_options(*options),
      .run =
          [options] {
            propose_recipe(*options);
            write_output(fmt::format("the recipe is in {0}; heed train {0} --out model\n", options->output));
          },
  };
  command.options.push_back(option("--threads N", options->threads, "threads to train with; 0: one per processor"));
  command.options.push_back(required(option("--out FILE", options->output, "the recipe to write")));
  return command;
}

}  // namespace heed::cli
