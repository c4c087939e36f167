// How heed plan shows the layouts of ranks.
#pragma once

#include <cstdint>
#include <string>

#include "command_line/command.h"
#include "plan/plan.h"

namespace heed::cli {

// The options of a command line that are about ranks.
struct RanksArguments {
  std::optional<int64_t> ranks;
  std::optional<std::string> layout;
  RanksOptions options;  // what the other options say
  int64_t top = 0;       // layouts that are listed; 0: all
  std::string detail;    // the last option given that needs --ranks or --layout
};

std::vector<Option> ranks_options(RanksArguments& arguments);

// Adds the arguments to the options of the plan; a given speed replaces its short run. ConfigError and
// std::runtime_error for options that make no sense together.
void read_ranks(const RanksArguments& arguments, PlanOptions& plan);

void print_ranks(const ModelPlan& plan, int64_t top);
// Members of the plan's object, without braces around them.
std::string ranks_json(const ModelPlan& plan, int64_t top);

}  // namespace heed::cli
