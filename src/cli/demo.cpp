#include "heed/demo.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/commands.h"
#include "cli/train_display.h"
#include "heed/lines.h"
#include "heed/report.h"
#include "heed/translator.h"

namespace heed::cli {
namespace {

constexpr int kShown = 8;

void show_translations(const Translator& translator, const DemoFiles& files) {
  std::vector<std::string> sources, references;
  for_each_pair(files.test_source, files.test_target,
                [&](const std::string& source, const std::string& target, int64_t number) {
                  if (number <= kShown) {
                    sources.push_back(source);
                    references.push_back(target);
                  }
                });
  const auto translations = translator.translate(sources, {.beam = 4});
  fmt::print("\nSentences whose words were never together in training:\n");
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::string& found = translations[i].front().text;
    fmt::print("  {}\n    {}{}\n", sources[i], found,
               found == references[i] ? "" : fmt::format("   (reference: {})", references[i]));
  }
}

void run_demo(const std::string& folder, int threads) {
  fmt::print("A translator from German to English, trained on a corpus that a grammar makes.\n");
  const DemoFiles files = write_demo(folder);
  const std::string model = (std::filesystem::path(folder) / "model").string();
  TrainDisplay display;
  const TrainResult result =
      train({.recipe = files.recipe, .output = model, .overrides = {}, .threads = threads}, display);
  const Translator translator(model, {.threads = threads});
  show_translations(translator, files);
  const EvaluationReport report =
      evaluate(translator,
               {.source = files.test_source, .reference = files.test_target, .output = "", .translation = {.beam = 4}});
  fmt::print("\n{} test sentences: BLEU {:.1f}, chrF2 {:.1f}, {:.0f} sentences/s\n", report.scores.sentences,
             report.scores.bleu.score, report.scores.chrf2.score, report.sentences_per_second());
  const WrittenReport page = write_report({.directory = model, .output = "", .source = files.test_source});
  fmt::print("{} parameters in {}\ncurves and attention: {}\n\nNext:\n", result.parameters, model, page.path);
  fmt::print("  echo \"Morgen kauft die Frau einen neuen Tisch.\" | heed translate --model {} --beam 4\n", model);
  fmt::print("  heed train {} --out OTHER --set model.encoder_layers=4      other settings, the same text\n",
             files.recipe);
  fmt::print("  heed train {} --out OTHER --set data.train_source=YOURS.de --set data.train_target=YOURS.en ...\n",
             files.recipe);
}

}  // namespace

void add_demo(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("demo", "train a translator on a built-in corpus, translate with it, and write a report");
  const auto folder = std::make_shared<std::string>("heed-demo");
  const auto threads = std::make_shared<int>(0);
  command->add_option("--out", *folder, "a new folder")->capture_default_str();
  command->add_option("--threads", *threads, "0: one per processor")->capture_default_str();
  command->callback([folder, threads] { run_demo(*folder, *threads); });
}

}  // namespace heed::cli
