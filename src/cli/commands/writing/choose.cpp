#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options/sampling_options.h"
#include "cli/options/translator_options.h"
#include "cli/output/counted.h"
#include "cli/output/standard_output.h"
#include "heed/choices.h"
#include "heed/lines.h"

namespace heed::cli {
namespace {

constexpr int64_t kPrefixBytes = int64_t{256} << 20;  // of what prompts begin with, which is read once

struct ChooseOptions {
  ModelOptions model;
  ChoiceOptions choices;
  std::string out;
  bool json = false;
};

std::string in_json(const Choice& choice) {
  std::vector<std::string> scores;
  for (const TextScore& score : choice.scores) {
    scores.push_back(
        fmt::format("{{\"log_probability\": {:.6f}, \"tokens\": {}}}", score.log_probability, score.tokens));
  }
  return fmt::format("{{\"likeliest\": {}, \"likeliest_by_length\": {}, \"answer\": {}, \"choices\": [{}]}}\n",
                     choice.likeliest, choice.likeliest_by_length, choice.answer, fmt::join(scores, ", "));
}

std::string number_or(double value, std::string_view none) {
  return std::isnan(value) ? std::string(none) : fmt::format("{:.6f}", value);
}

void print_json(const ChoiceReport& report) {
  const double plain = report.accuracy(), by_length = report.accuracy_by_length();
  put("{{\"questions\": {}, \"accuracy\": {:.6f}, \"standard_error\": {}, \"accuracy_by_length\": {:.6f}, "
      "\"standard_error_by_length\": {}, \"seconds\": {:.6g}}}\n",
      report.choices.size(), plain, number_or(report.standard_error(plain), "null"), by_length,
      number_or(report.standard_error(by_length), "null"), report.seconds);
}

void print_text(const ChoiceReport& report) {
  const auto count = static_cast<int64_t>(report.choices.size());
  const auto percent = [&](double accuracy) {
    const double error = report.standard_error(accuracy);
    return std::isnan(error) ? fmt::format("{:6.2f}%", 100.0 * accuracy)
                             : fmt::format("{:6.2f}% +- {:.2f}", 100.0 * accuracy, 100.0 * error);
  };
  put("accuracy            {}\naccuracy by length  {}\n{} in {:.2f} s\n", percent(report.accuracy()),
      percent(report.accuracy_by_length()), counted(count, "question"), report.seconds);
}

void run_choices(const ChooseOptions& options) {
  std::unique_ptr<NewTextFile> file;
  if (!options.out.empty()) {
    file = std::make_unique<NewTextFile>(options.out,
                                         std::vector<std::string>{options.choices.file, options.choices.examples});
  }
  const Generator generator(options.model.directory, options.model.inference);
  const ChoiceReport report = choose(generator, options.choices);
  if (file) {
    for (const Choice& choice : report.choices) {
      file->write(in_json(choice));
    }
    file->commit();
  }
  options.json ? print_json(report) : print_text(report);
}

}  // namespace

Command choose_command() {
  const auto options = std::make_shared<ChooseOptions>();
  options->model.inference.prefix_bytes = kPrefixBytes;
  ChoiceOptions& choices = options->choices;
  return {
      .name = "choose",
      .summary = "choose the likeliest of given continuations with a language model, and count how often it is right",
      .options = joined(
          {model_options(options->model),
           {context_option(options->model), rotary_scaling_option(options->model), cache_option(options->model),
            ensemble_option(options->model),
            required(option("--questions FILE", choices.file,
                            "a JSON object per line: {\"prompt\": \"2 + 2 =\", \"choices\": [\" 4\", \" 5\"], "
                            "\"answer\": 0}")),
            option("--examples FILE", choices.examples, "questions of this file go before each prompt, answered"),
            needing("--examples", option("--shots N", choices.shots, "the first N of them")),
            flag("--cut-prompt", choices.too_long, TooLong::truncate,
                 "cut prompts that are too long for the model, from the left"),
            option("--out FILE", options->out,
                   "write one JSON object per question: likeliest, likeliest_by_length, answer, and of the choices "
                   "log_probability and tokens"),
            flag("--json", options->json,
                 "print one JSON object: questions, accuracy, standard_error, accuracy_by_length, "
                 "standard_error_by_length, seconds")}}),
      .run =
          [options] {
            const auto work = [&] { run_choices(*options); };
            options->choices.too_long == TooLong::truncate ? work() : naming_cut_prompt(work);
          },
  };
}

}  // namespace heed::cli
