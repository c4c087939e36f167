#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "cli/commands.h"
#include "cli/standard_output.h"
#include "cli/translation_scores.h"
#include "heed/lines.h"

namespace heed::cli {
namespace {

std::string to_json(const SampledScore& score) {
  return fmt::format("{{\"score\": {}, \"mean\": {}, \"low\": {}, \"high\": {}}}", score.score, score.mean, score.low,
                     score.high);
}

void print_json(const TranslationScores& scores) {
  put("{{{}", json_members(scores));
  if (!scores.comparisons.empty()) {
    std::vector<std::string> comparisons;
    for (const PairedComparison& c : scores.comparisons) {
      comparisons.push_back(fmt::format("{{\"metric\": \"{}\", \"p_value\": {}, \"system\": {}, \"baseline\": {}}}",
                                        c.metric, c.p_value, to_json(c.system), to_json(c.baseline)));
    }
    put(", \"paired_bootstrap\": [{}]", fmt::join(comparisons, ", "));
  }
  put("}}\n");
}

std::string in_words(const SampledScore& score) {
  return fmt::format("{:6.2f}   mean {:6.2f}   95% within {:.2f} to {:.2f}", score.score, score.mean, score.low,
                     score.high);
}

void print_text(const TranslationScores& scores) {
  print_scores(scores);
  for (const PairedComparison& c : scores.comparisons) {
    put("{:<8} system    {}\n{:<8} baseline  {}\n{:<8} p = {:.4f}\n\n", c.metric, in_words(c.system), "",
        in_words(c.baseline), "", c.p_value);
  }
  print_signatures(scores);
}

}  // namespace

void add_bleu(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("bleu", "score translations from standard input: BLEU, chrF2 and chrF2++, as sacreBLEU does");
  const auto options = std::make_shared<TranslationScoreOptions>();
  const auto json = std::make_shared<bool>(false);
  const auto lowercase = std::make_shared<bool>(false);
  command->add_option("--reference", options->references, "a file of translations to compare with; once or repeated")
      ->required()
      ->allow_extra_args(false);
  command->add_flag("--lowercase", *lowercase, "compare in lower case");
  command->add_option("--paired-bootstrap", options->baseline,
                      "another system's translations: how likely the difference is chance");
  command->add_option("--samples", options->samples, "of the paired bootstrap")->capture_default_str();
  command->add_option("--seed", options->seed, "of its samples")->capture_default_str();
  command->add_flag("--json", *json, "one JSON object");
  command->footer(
      "Text is detokenized, a sentence a line, UTF-8. Example:\n"
      "  heed bleu --reference test.en < translated.en");
  command->callback([options, json, lowercase] {
    options->letters = *lowercase ? Letters::lower_case : Letters::as_they_are;
    if (options->baseline == "-" || std::ranges::count(options->references, "-") > 0) {
      throw std::invalid_argument("bleu: standard input holds the translations: name files for the others");
    }
    std::vector<std::string> hypotheses;
    for_each_line("-", [&](const std::string& line, const std::string&) { hypotheses.push_back(line); });
    const TranslationScores scores = score_translations(std::move(hypotheses), *options);
    *json ? print_json(scores) : print_text(scores);
  });
}

}  // namespace heed::cli
