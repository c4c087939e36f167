#include "heed/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "cli/commands.h"
#include "cli/standard_output.h"

namespace heed::cli {
namespace {

std::string count_in_words(const ParameterCount& count) {
  return count.vocabulary.empty() ? fmt::format("{}", count.elements)
                                  : fmt::format("{} x {}", count.elements, count.vocabulary);
}

void print_summary(const ModelSummary& summary) {
  put("{}\n", summary.architecture);
  size_t name_width = 0, shape_width = 0;
  for (const ParameterInfo& parameter : summary.parameters) {
    name_width = std::max(name_width, parameter.name.size());
    shape_width = std::max(shape_width, parameter.shape.size());
  }
  for (const ParameterInfo& parameter : summary.parameters) {
    put("{:<{}}  {:>{}}  {:>12}\n", parameter.name, name_width, parameter.shape, shape_width,
        count_in_words(parameter.count));
  }
  std::vector<std::string> counts;
  std::ranges::transform(summary.counts, std::back_inserter(counts), count_in_words);
  put("{:<{}}  {:>{}}  {:>12}\n", "parameters", name_width, "", shape_width,
      fmt::format("{}", fmt::join(counts, " + ")));
}

}  // namespace

Command inspect_command() {
  const auto path = std::make_shared<std::string>();
  const auto overrides = std::make_shared<std::vector<std::string>>();
  return {
      .name = "inspect",
      .summary = "show a recipe's architecture and its table of parameters",
      .options = {required(option("RECIPE", *path, "a recipe, in TOML")),
                  option("--set KEY=VALUE", *overrides, "override a setting of the recipe, as table.key=value")},
      .run = [path, overrides] { print_summary(inspect_recipe(*path, *overrides)); },
  };
}

}  // namespace heed::cli
