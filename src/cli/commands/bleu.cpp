#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "cli/commands.h"
#include "cli/output/standard_output.h"
#include "cli/output/translation_scores.h"
#include "heed/evaluate.h"
#include "heed/lines.h"

namespace heed::cli {
namespace {

std::string to_json(const SampledScore& score) {
  return fmt::format("{{\"score\": {}, \"mean\": {}, \"low\": {}, \"high\": {}}}", score.score, score.samples.mean,
                     score.samples.low, score.samples.high);
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

std::string describe(const SampledScore& score) {
  return fmt::format("{:6.2f}   mean {:6.2f}   95% within {:.2f} to {:.2f}", score.score, score.samples.mean,
                     score.samples.low, score.samples.high);
}

void print_text(const TranslationScores& scores) {
  print_scores(scores);
  for (const PairedComparison& c : scores.comparisons) {
    put("{:<8} system    {}\n{:<8} baseline  {}\n{:<8} p = {:.4f}\n\n", c.metric, describe(c.system), "",
        describe(c.baseline), "", c.p_value);
  }
  print_signatures(scores);
}

struct BleuOptions {
  TranslationFiles files;
  TranslationScoreOptions scoring;
  bool json = false;
};

void score_input(const BleuOptions& options) {
  if (options.files.baseline == "-" || std::ranges::count(options.files.references, "-") > 0) {
    throw std::invalid_argument("bleu: standard input holds the translations: name files for the others");
  }
  std::vector<std::string> hypotheses;
  for_each_line("-", [&](const std::string& line, const std::string&) { hypotheses.push_back(line); });
  const TranslationTexts texts = read_translation_texts(std::move(hypotheses), options.files);
  const TranslationScores scores = score_translations(texts, options.scoring);
  options.json ? print_json(scores) : print_text(scores);
}

}  // namespace

Command bleu_command() {
  const auto options = std::make_shared<BleuOptions>();
  TranslationScoreOptions& scoring = options->scoring;
  return {
      .name = "bleu",
      .summary = "score translations from standard input: BLEU, chrF2 and chrF2++, as sacreBLEU does",
      .options = {required(option("--reference FILE", options->files.references, "the reference translations")),
                  flag("--lowercase", scoring.letters, LetterCase::lower, "compare in lower case"),
                  option("--paired-bootstrap FILE", options->files.baseline,
                         "another system's translations; prints how likely it is that the difference is chance"),
                  needing("--paired-bootstrap", option("--samples N", scoring.samples, "bootstrap samples")),
                  needing("--paired-bootstrap", option("--seed N", scoring.seed, "random seed of the bootstrap")),
                  flag("--json", options->json, "print one JSON object")},
      .run = [options] { score_input(*options); },
      .footer =
          "Text is detokenized, one sentence per line, in UTF-8. Example:\n"
          "  heed bleu --reference test.en < translated.en",
  };
}

}  // namespace heed::cli
