#include "heed/shortlist.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/output/standard_output.h"

namespace heed::cli {
namespace {

void run_shortlist(const ShortlistOptions& options) {
  constexpr double kFileUnit = 1e6;  // bytes of a megabyte
  const ShortlistResult result = learn_shortlist(options);
  put("text: {}\nlearned in {:.1f} s: {} targets of {} source tokens, {:.1f} MB in {}; heed translate --model {} "
      "--shortlist {}\n",
      result.text, result.seconds, result.pairs, result.tokens, static_cast<double>(result.bytes) / kFileUnit,
      options.output, options.model, options.output);
}

}  // namespace

Command shortlist_command() {
  const auto options = std::make_shared<ShortlistOptions>();
  return {
      .name = "shortlist",
      .summary = "learn from a parallel text which tokens translate which, for a faster translate --shortlist",
      .options = {required(option("--model DIR", options->model, "the model directory")),
                  required(option("--source FILE", options->source, "source sentences, one per line")),
                  required(option("--target FILE", options->target, "their translations, one per line")),
                  required(option("--out FILE", options->output, "the file to write")),
                  option("--best N", options->best, "the N likeliest target tokens of each source token"),
                  option("--frequent N", options->frequent,
                         "the N most frequent target tokens, which every sentence may use"),
                  option("--threads N", options->threads, "threads to use; 0: one per processor")},
      .run = [options] { run_shortlist(*options); },
  };
}

}  // namespace heed::cli
