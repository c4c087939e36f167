// A recipe for a text, a time and this machine, in which each choice has its reason. For the program only: embedders do
// not link it. docs/recipes.md has the rules.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "heed/types/names.h"

namespace heed {

enum class ProposedTask : uint8_t { translation, language_model };

inline constexpr std::array<NamedValue<ProposedTask>, 2> kProposedTaskNames{
    {{"translation", ProposedTask::translation}, {"language-model", ProposedTask::language_model}}};

struct ProposalOptions {
  ProposedTask task = ProposedTask::translation;
  std::vector<std::string> source, target;  // files of a translation, line by line
  std::vector<std::string> text;            // of a language model
  // A translation's two files, a language model's one. None: a part of the text is kept for it.
  std::vector<std::string> validation;
  double minutes = 30.0;  // that training may take on this machine
  int threads = 0;        // 0: one per processor
  std::string output;     // the recipe's file; what is kept for validation stands beside it
};

// Reads the text, measures a few updates of models that come into question, and writes the recipe. Returns it. Where
// validation text is kept back, four more files are written, whose names begin with that of the recipe. ConfigError and
// FormatError, before anything is written: for files of different lengths, a text too small to divide, or minutes too
// few for a first validation.
std::string propose_recipe(const ProposalOptions& options);

}  // namespace heed
