#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options/translator_options.h"
#include "cli/output/standard_output.h"
#include "heed/lines.h"
#include "heed/translator.h"

namespace heed::cli {
namespace {

constexpr size_t kPairsAtOnce = 1000;

struct ScoreOptions {
  ModelOptions model;
  LanguagePair languages;
  std::string source, target;
};

// Reads the files completely before anything is written: they may turn out not to be parallel.
void score_files(const ScoreOptions& options) {
  const Translator translator(options.model.directory, options.model.inference);
  std::vector<std::string> sources, targets;
  for_each_pair(options.source, options.target, [&](const std::string& source, const std::string& target, int64_t) {
    sources.push_back(source);
    targets.push_back(target);
  });
  std::string text;
  for (size_t begin = 0; begin < sources.size(); begin += kPairsAtOnce) {
    const size_t count = std::min(kPairsAtOnce, sources.size() - begin);
    const auto line_of = [begin](const std::string& path) {
      return [&path, begin](size_t line) { return fmt::format("{}:{}", path, begin + line + 1); };
    };
    for (const PairScore& pair : translator.score(
             {.sources = std::span(sources).subspan(begin, count), .targets = std::span(targets).subspan(begin, count)},
             {line_of(options.source), line_of(options.target)}, options.languages)) {
      text += fmt::format("{:.6f}\t{}\n", pair.log_probability, pair.tokens);
    }
  }
  write_output(text);
}

}  // namespace

Command score_command() {
  const auto options = std::make_shared<ScoreOptions>();
  return {
      .name = "score",
      .summary = "print the log-probabilities and token counts of given translations",
      .options = joined({model_options(options->model),
                         language_options(options->languages),
                         {context_option(options->model), rotary_scaling_option(options->model),
                          cache_option(options->model), ensemble_option(options->model),
                          required(option("--source FILE", options->source, "source sentences, one per line")),
                          required(option("--target FILE", options->target, "their translations, one per line"))}}),
      .run = [options] { score_files(*options); },
  };
}

}  // namespace heed::cli
