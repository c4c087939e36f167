// A recipe for a text, a time and this machine, in which each choice has its reason. For the program only: embedders do
// not link it. docs/recipes.md has the rules.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/types/names.h"

namespace heed {

enum class ProposedTask : uint8_t { translation, language_model, masked_lm, classify, tag };

inline constexpr std::array<NamedValue<ProposedTask>, 5> kProposedTaskNames{
    {{"translation", ProposedTask::translation},
     {"language-model", ProposedTask::language_model},
     {"masked-lm", ProposedTask::masked_lm},
     {"classify", ProposedTask::classify},
     {"tag", ProposedTask::tag}}};

// What a model is to be best at: speed is that of decoding.
enum class Aim : uint8_t { speed, size, quality };

inline constexpr std::array<NamedValue<Aim>, 3> kAimNames{
    {{"speed", Aim::speed}, {"size", Aim::size}, {"quality", Aim::quality}}};

struct ProposalOptions {
  ProposedTask task = ProposedTask::translation;
  std::vector<std::string> source, target;  // files of a translation, line by line
  std::vector<std::string> text;            // of the other tasks; with labels for classify and tag
  // A translation's two files, one of the other tasks. None: a part of the text is kept for it.
  std::vector<std::string> validation;
  std::string from;        // a model to go on from; empty: none
  std::optional<Aim> aim;  // none: what learns most in the time
  double memory = 0.0;     // GB that training may take; 0: what this machine has
  double minutes = 30.0;   // that training may take on this machine
  int threads = 0;         // 0: one per processor
  std::string output;      // the recipe's file; what is kept for validation stands beside it
};

// Reads the text, measures a few updates of models that come into question, and writes the recipe. Returns it. Where
// validation text is kept back, more files are written, whose names begin with that of the recipe. ConfigError and
// FormatError, before anything is written: for files of different lengths, a text too small to divide, or minutes too
// few for a first validation.
std::string propose_recipe(const ProposalOptions& options);

}  // namespace heed
