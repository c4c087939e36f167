// Options that the commands share which run a translation model.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "heed/translator.h"

namespace heed::cli {

struct ModelOptions {
  std::string directory;
  TranslatorOptions translator;

  void add_to(CLI::App& command) {
    command.add_option("--model", directory, "the model's directory")->required();
    command.add_option("--precision", translator.precision, "f32, bf16 or auto")->capture_default_str();
    command.add_option("--threads", translator.threads, "0: one per processor")->capture_default_str();
  }
};

inline void add_search_options(CLI::App& command, TranslationOptions& options) {
  command.add_option("--beam", options.beam, "hypotheses kept per sentence; 1 is greedy")->capture_default_str();
  command.add_option("--length-penalty", options.length_penalty, "A of the score: sum of log-probabilities / length^A")
      ->capture_default_str();
  command
      .add_option("--max-length", options.max_length,
                  "tokens of a translation, its end included; 0: twice the source and 16 more")
      ->capture_default_str();
}

}  // namespace heed::cli
