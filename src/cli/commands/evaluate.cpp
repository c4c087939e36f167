#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/options/translator_options.h"
#include "cli/output/counted.h"
#include "cli/output/standard_output.h"
#include "cli/output/translation_scores.h"
#include "heed/ranks.h"
#include "heed/translator.h"

namespace heed::cli {
namespace {

struct EvaluateOptions {
  ModelOptions model;
  EvaluationOptions evaluation;
  SearchChoice search;
  std::string shortlist;
  bool json = false;
};

void print_json(const EvaluateOptions& options, const EvaluationReport& report) {
  const std::string candidates =
      options.shortlist.empty() ? "" : fmt::format(", \"candidates\": {:.6g}", report.candidates);
  put("{{{}, \"seconds\": {:.6g}, \"sentences_per_second\": {:.6g}, \"target_tokens\": {}, "
      "\"target_tokens_per_second\": {:.6g}, \"precision\": \"{}\", \"threads\": {}{}}}\n",
      json_members(report.scores), report.seconds, report.sentences_per_second(), report.target_tokens,
      report.target_tokens_per_second(), name_of(report.precision), report.threads, candidates);
}

void print_text(const EvaluateOptions& options, const EvaluationReport& report) {
  print_scores(report.scores);
  put("{} sentences in {:.2f} s: {:.1f} sentences/s, {:.0f} target tokens/s ({}, {})\n", report.scores.sentences,
      report.seconds, report.sentences_per_second(), report.target_tokens_per_second(), name_of(report.precision),
      counted(report.threads, "thread"));
  if (!options.shortlist.empty()) {
    put("shortlist: {:.0f} tokens a sentence on average\n", report.candidates);
  }
  put("\n");
  print_signatures(report.scores);
}

void run_evaluation(EvaluateOptions& options) {
  const Translator translator(options.model.directory, options.model.inference, {}, options.shortlist);
  options.search.take_defaults(translator.with_defaults(options.search.options));
  options.evaluation.translation = options.search.options;
  const EvaluationReport report = evaluate(translator, options.evaluation);
  if (rank_of_job().is_first()) {
    options.json ? print_json(options, report) : print_text(options, report);
  }
}

}  // namespace

Command evaluate_command() {
  const auto options = std::make_shared<EvaluateOptions>();
  EvaluationOptions& evaluation = options->evaluation;
  return {
      .name = "evaluate",
      .summary = "translate a test set and score it: BLEU, chrF2, chrF2++ and speed",
      .options =
          joined({model_options(options->model),
                  {required(option("--source FILE", evaluation.source, "source sentences, one per line")),
                   required(option("--reference FILE", evaluation.reference, "reference translations, one per line"))},
                  search_options(options->search),
                  language_options(options->search.options.languages),
                  {context_option(options->model), rotary_scaling_option(options->model)},
                  {ensemble_option(options->model), cache_option(options->model), shortlist_option(options->shortlist),
                   formerly("--output", option("--out FILE", evaluation.output, "write the translations to this file")),
                   flag("--lowercase", evaluation.letters, LetterCase::lower, "compare in lower case"),
                   flag("--json", options->json, "print one JSON object")}}),
      .processes = Processes::several,
      .run = [options] { run_evaluation(*options); },
  };
}

}  // namespace heed::cli
