#include "heed/report.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/output/counted.h"
#include "cli/output/standard_output.h"

namespace heed::cli {
namespace {

void print_summary(const WrittenReport& report) {
  put("{}  {:.0f} kB, {}\n", report.path, static_cast<double>(report.bytes) / 1e3, counted(report.samples, "sample"));
  for (const std::string& note : report.notes) {
    put("  {}\n", note);
  }
}

}  // namespace

Command report_command() {
  const auto options = std::make_shared<ReportOptions>();
  return {
      .name = "report",
      .summary = "write a page about a trained model: curves, settings, samples, attention",
      .options = {required(option("DIR", options->directory, "a model directory")),
                  formerly("--output",
                           option("--out FILE", options->output, "the file to write; by default DIR/report.html")),
                  option("--source FILE", options->source,
                         "sentences to translate, or text for a language model, plain or .gz; by default the recipe's "
                         "validation text"),
                  option("--samples N", options->samples, "sentences to show, from the first"),
                  option("--beam N", options->beam, "beam width; 0: as in the recipe's validation"),
                  option("--threads N", options->threads, "threads to use; 0: one per processor")},
      .run = [options] { print_summary(write_report(*options)); },
      .footer = "The page is one file and loads nothing from elsewhere. Example:\n  heed report runs/base",
  };
}

}  // namespace heed::cli
