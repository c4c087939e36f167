#include "heed/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>

#include "cli/commands.h"
#include "cli/output/probe_output.h"
#include "cli/output/standard_output.h"

namespace heed::cli {
namespace {

std::string describe_count(const ParameterCount& count) {
  return count.vocabulary.empty() ? fmt::format("{}", count.elements)
                                  : fmt::format("{} x {}", count.elements, count.vocabulary);
}

// "  int8    263168 bytes", of a model directory.
std::string describe_stored(const ParameterInfo& parameter) {
  return parameter.type.empty() ? "" : fmt::format("  {:<4}  {:>11} bytes", parameter.type, parameter.bytes);
}

// "bytes       1234: 1000 in int8, 234 in f32", of a model directory.
void print_stored(const std::vector<ParameterInfo>& parameters) {
  std::map<std::string, int64_t> bytes;
  int64_t all = 0;
  for (const ParameterInfo& parameter : parameters) {
    if (!parameter.type.empty()) {
      bytes[parameter.type] += parameter.bytes;
      all += parameter.bytes;
    }
  }
  if (bytes.empty()) {
    return;
  }
  std::vector<std::string> parts;
  parts.reserve(bytes.size());
  for (const auto& [type, count] : bytes) {
    parts.push_back(fmt::format("{} in {}", count, type));
  }
  put("bytes       {}: {}\n", all, fmt::join(parts, ", "));
}

void print_summary(const ModelSummary& summary) {
  put("{}\n", summary.architecture);
  for (const std::string& note : summary.notes) {
    put("{}\n", note);
  }
  size_t name_width = 0, shape_width = 0;
  for (const ParameterInfo& parameter : summary.parameters) {
    name_width = std::max(name_width, parameter.name.size());
    shape_width = std::max(shape_width, parameter.shape.size());
  }
  for (const ParameterInfo& parameter : summary.parameters) {
    put("{:<{}}  {:>{}}  {:>12}{}{}{}\n", parameter.name, name_width, parameter.shape, shape_width,
        describe_count(parameter.count), describe_stored(parameter), parameter.trained ? "" : "  frozen",
        parameter.from.empty() ? "" : "  from " + parameter.from);
  }
  const auto put_counts = [&](std::string_view what, const std::vector<ParameterCount>& all) {
    std::vector<std::string> counts;
    std::ranges::transform(all, std::back_inserter(counts), describe_count);
    put("{:<{}}  {:>{}}  {:>12}\n", what, name_width, "", shape_width, fmt::format("{}", fmt::join(counts, " + ")));
  };
  put_counts("parameters", summary.counts);
  if (!summary.trained.empty()) {
    put_counts("trained", summary.trained);
  }
  print_stored(summary.parameters);
}

struct InspectArguments {
  ProbeOptions options;
  bool probe = false, json = false;
};

void inspect(const InspectArguments& arguments) {
  const ProbeOptions& options = arguments.options;
  if (!arguments.probe) {
    print_summary(inspect_recipe(options.path, options.overrides));
    return;
  }
  const Probe probe = probe_model(options);
  put("{}", arguments.json ? probe_in_json(probe) : probe_in_tables(probe));
  if (!probe.is_sound()) {
    throw std::runtime_error(options.path + ": the probe found a leak, or attention that does not add up");
  }
}

}  // namespace

Command inspect_command() {
  const auto arguments = std::make_shared<InspectArguments>();
  ProbeOptions& options = arguments->options;
  return {
      .name = "inspect",
      .summary = "show a model's architecture and its table of parameters, or what comes out of its parts",
      .options = {required(option("RECIPE", options.path, "a recipe, in TOML, or a model directory")),
                  option("--set TABLE.KEY=VALUE", options.overrides, "override a setting of the recipe"),
                  flag("--probe", arguments->probe, "run a random batch through the model, forward and backward"),
                  needing("--probe", option("--sequences N", options.sequences, "sequences of the batch")),
                  needing("--probe",
                          option("--length N", options.length,
                                 "tokens of a sequence; 16 if not given, or fewer if the model takes fewer")),
                  needing("--probe", option("--seed N", options.seed, "of the random tokens and initial weights")),
                  needing("--probe", flag("--json", arguments->json, "print one JSON object")),
                  needing("--probe", option("--threads N", options.threads, "threads to use; 0: one per processor"))},
      .run = [arguments] { inspect(*arguments); },
  };
}

}  // namespace heed::cli
