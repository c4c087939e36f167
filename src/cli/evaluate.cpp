#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/standard_output.h"
#include "cli/translation_scores.h"
#include "cli/translator_options.h"

namespace heed::cli {
namespace {

struct Options {
  ModelOptions model;
  EvaluationOptions evaluation;
  bool lowercase = false, json = false;
};

void print_json(const EvaluationReport& report) {
  put("{{{}, \"seconds\": {:.6g}, \"sentences_per_second\": {:.6g}, \"target_tokens\": {}, "
      "\"target_tokens_per_second\": {:.6g}, \"precision\": \"{}\", \"threads\": {}}}\n",
      json_members(report.scores), report.seconds, report.sentences_per_second(), report.target_tokens,
      report.target_tokens_per_second(), report.precision, report.threads);
}

void print_text(const EvaluationReport& report) {
  print_scores(report.scores);
  put("{} sentences in {:.2f} s: {:.1f} sentences/s, {:.0f} target tokens/s ({}, {} thread{})\n\n",
      report.scores.sentences, report.seconds, report.sentences_per_second(), report.target_tokens_per_second(),
      report.precision, report.threads, report.threads == 1 ? "" : "s");
  print_signatures(report.scores);
}

}  // namespace

void add_evaluate(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("evaluate", "translate a test set and score it: BLEU, chrF2, chrF2++ and speed");
  const auto options = std::make_shared<Options>();
  EvaluationOptions& evaluation = options->evaluation;
  options->model.add_to(*command);
  command->add_option("--source", evaluation.source, "a file, a sentence a line")->required();
  command->add_option("--reference", evaluation.reference, "what people made of it")->required();
  add_search_options(*command, evaluation.translation);
  command->add_option("--output", evaluation.output, "a file for the translations");
  command->add_flag("--lowercase", options->lowercase, "compare in lower case");
  command->add_flag("--json", options->json, "one JSON object");
  command->callback([options] {
    options->evaluation.letters = options->lowercase ? Letters::lower_case : Letters::as_they_are;
    const Translator translator(options->model.directory, options->model.translator);
    const EvaluationReport report = evaluate(translator, options->evaluation);
    options->json ? print_json(report) : print_text(report);
  });
}

}  // namespace heed::cli
