#include "heed/report.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/standard_output.h"

namespace heed::cli {
namespace {

void print_summary(const WrittenReport& report) {
  put("{}  {:.0f} kB, {} sample{}\n", report.path, static_cast<double>(report.bytes) / 1e3, report.samples,
      report.samples == 1 ? "" : "s");
  for (const std::string& note : report.notes) {
    put("  {}\n", note);
  }
}

}  // namespace

void add_report(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("report", "write a page about a trained model: curves, settings, samples, attention");
  const auto options = std::make_shared<ReportOptions>();
  command->add_option("DIR", options->directory, "a model directory")->required();
  command->add_option("--output", options->output, "the file to write; DIR/report.html if not given");
  command->add_option("--source", options->source,
                      "sentences to translate, plain or .gz; the recipe's validation text if not given");
  command->add_option("--samples", options->samples, "how many of them, from the first")->capture_default_str();
  command->add_option("--beam", options->beam, "of the search; 0: as the recipe validates")->capture_default_str();
  command->add_option("--threads", options->threads, "0: one per processor")->capture_default_str();
  command->footer("The page is one file and loads nothing from elsewhere. Example:\n  heed report runs/base");
  command->callback([options] { print_summary(write_report(*options)); });
}

}  // namespace heed::cli
