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
  const auto several = std::make_shared<ComparisonOptions>();
  return {
      .name = "report",
      .summary = "write a page about a trained model: curves, settings, samples, attention; or about several",
      .options = {required(option("DIR", several->directories, "a model directory; several: they are compared")),
                  formerly(
                      "--output",
                      option("--out FILE", options->output,
                             "the file to write; by default DIR/report.html, of several comparison.html in the first")),
                  option("--source FILE", options->source,
                         "sentences to translate, or text for a language model, plain or .gz; by default the recipe's "
                         "validation text"),
                  option("--samples N", options->samples, "sentences to show, from the first"),
                  option("--sentences N", several->sentences,
                         "of several models: texts that tell differences from chance; 0: none"),
                  option("--beam N", options->beam, "beam width; 0: as in the recipe's validation"),
                  option("--threads N", options->threads, "threads to use; 0: one per processor")},
      .run =
          [options, several] {
            if (several->directories.size() == 1) {
              options->directory = several->directories.front();
              print_summary(write_report(*options));
              return;
            }
            several->output = options->output;
            several->source = options->source;
            several->samples = options->samples;
            several->beam = options->beam;
            several->threads = options->threads;
            print_summary(write_comparison(*several));
          },
      .footer =
          "The page is one file and loads nothing from elsewhere. Examples:\n  heed report runs/base\n"
          "  heed report runs/base runs/wide runs/deep --out compared.html",
  };
}

}  // namespace heed::cli
