#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <memory>

#include "cli/commands.h"
#include "heed/evaluate.h"

namespace heed::cli {
namespace {

std::string to_json(const SampledScore& score) {
  return fmt::format("{{\"score\": {}, \"mean\": {}, \"low\": {}, \"high\": {}}}", score.score, score.mean, score.low,
                     score.high);
}

void print_json(const TranslationScores& scores) {
  fmt::print(
      "{{\"bleu\": {}, \"chrf2\": {}, \"chrf2pp\": {}, \"signature\": \"{}\", \"chrf2_signature\": \"{}\", "
      "\"chrf2pp_signature\": \"{}\", \"precisions\": [{}], \"brevity_penalty\": {}, \"hypothesis_length\": {}, "
      "\"reference_length\": {}, \"sentences\": {}",
      scores.bleu.score, scores.chrf2.score, scores.chrf2pp.score, scores.bleu.signature, scores.chrf2.signature,
      scores.chrf2pp.signature, fmt::join(scores.precisions, ", "), scores.brevity_penalty, scores.hypothesis_length,
      scores.reference_length, scores.sentences);
  if (!scores.comparisons.empty()) {
    std::vector<std::string> comparisons;
    for (const PairedComparison& c : scores.comparisons) {
      comparisons.push_back(fmt::format("{{\"metric\": \"{}\", \"p_value\": {}, \"system\": {}, \"baseline\": {}}}",
                                        c.metric, c.p_value, to_json(c.system), to_json(c.baseline)));
    }
    fmt::print(", \"paired_bootstrap\": [{}]", fmt::join(comparisons, ", "));
  }
  fmt::print("}}\n");
}

std::string in_words(const SampledScore& score) {
  return fmt::format("{:6.2f}   mean {:6.2f}   95% within {:.2f} to {:.2f}", score.score, score.mean, score.low,
                     score.high);
}

void print_text(const TranslationScores& scores) {
  std::vector<std::string> precisions;
  for (const double precision : scores.precisions) {
    precisions.push_back(fmt::format("{:.1f}", precision));
  }
  fmt::print("BLEU     {:6.2f}   {} (BP {:.3f}, {} words for {} of the reference)\n", scores.bleu.score,
             fmt::join(precisions, "/"), scores.brevity_penalty, scores.hypothesis_length, scores.reference_length);
  fmt::print("chrF2    {:6.2f}\nchrF2++  {:6.2f}\n\n", scores.chrf2.score, scores.chrf2pp.score);
  for (const PairedComparison& c : scores.comparisons) {
    fmt::print("{:<8} system    {}\n{:<8} baseline  {}\n{:<8} p = {:.4f}\n\n", c.metric, in_words(c.system), "",
               in_words(c.baseline), "", c.p_value);
  }
  fmt::print("BLEU     {}\nchrF2    {}\nchrF2++  {}\n", scores.bleu.signature, scores.chrf2.signature,
             scores.chrf2pp.signature);
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
    const std::string hypotheses(std::istreambuf_iterator<char>(std::cin), {});
    const TranslationScores scores = score_translations(hypotheses, *options);
    *json ? print_json(scores) : print_text(scores);
  });
}

}  // namespace heed::cli
