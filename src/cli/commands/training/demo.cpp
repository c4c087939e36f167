#include "demo/demo.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/output/standard_output.h"
#include "cli/output/train_display.h"
#include "heed/lines.h"
#include "heed/report.h"
#include "heed/train.h"
#include "heed/translator.h"

namespace heed::cli {
namespace {

constexpr int kShown = 8;

void show_translations(const Translator& translator, const Demo& demo) {
  std::vector<std::string> sources, references;
  for_each_pair(demo.test_source, demo.test_target,
                [&](const std::string& source, const std::string& target, int64_t number) {
                  if (number <= kShown) {
                    sources.push_back(source);
                    references.push_back(target);
                  }
                });
  const auto translations = translator.translate(sources, {.beam = 4});
  put("\nSentences whose words were never together in training:\n");
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::string& found = translations[i].front().text;
    put("  {}\n    {}{}\n", sources[i], found,
        found == references[i] ? "" : fmt::format("   (reference: {})", references[i]));
  }
}

TrainResult show_training(const TrainOptions& options) {
  TrainDisplay display;
  return train(options, display);
}

void show_next(const std::string& program, const Demo& demo) {
  put("\nNext:\n");
  put("  echo \"Morgen kauft die Frau einen neuen Tisch.\" | {} translate --model {} --beam 4\n", program, demo.model);
  put("  {} train {} --out OTHER --set model.encoder_layers=4      other settings, the same text\n", program,
      demo.recipe);
  put("  {} train {} --out OTHER --set tokenizer.vocabulary=8000 --set data.train_source=YOURS.de "
      "--set data.train_target=YOURS.en --set data.validation_source=VALID.de --set data.validation_target=VALID.en\n",
      program, demo.recipe);
}

void run_demo(const DemoOptions& options, const std::string& program) {
  const Demo demo = write_demo(options);
  put("A translator from German to English, trained on a corpus that a grammar generates.\n");
  const TrainResult result =
      show_training({.recipe = demo.recipe, .output = demo.model, .overrides = {}, .threads = options.threads});
  if (result.reason == EndReason::stopped) {
    put("stopped; to go on: {} train {} --out {} --resume\n", program, demo.recipe, demo.model);
    return;
  }
  const Translator translator(demo.model, {.threads = options.threads});
  show_translations(translator, demo);
  const EvaluationReport report =
      evaluate(translator,
               {.source = demo.test_source, .reference = demo.test_target, .output = "", .translation = {.beam = 4}});
  put("\n{} test sentences: BLEU {:.1f}, chrF2 {:.1f}, {:.0f} sentences/s\n", report.scores.sentences,
      report.scores.bleu.score, report.scores.chrf2, report.sentences_per_second());
  const WrittenReport page =
      write_report({.directory = demo.model, .output = "", .source = demo.test_source, .threads = options.threads});
  put("{} parameters in {}\ncurves and attention: {}\n", result.parameters, demo.model, page.path);
  show_next(program, demo);
}

}  // namespace

Command demo_command(const std::string& program) {
  const auto options = std::make_shared<DemoOptions>();
  options->folder = "heed-demo";
  return {
      .name = "demo",
      .summary = "train a translator on a built-in corpus, translate with it, and write a report",
      .options = {option("--out DIR", options->folder, "the folder to create"),
                  option("--updates N", options->updates,
                         "training updates; a hundred are a quick look at a poor translator"),
                  option("--threads N", options->threads, "threads to use; 0: one per processor")},
      .run = [options, program] { run_demo(*options, program); },
  };
}

}  // namespace heed::cli
