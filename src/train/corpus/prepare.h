// Preparing a recipe's corpus.
#pragma once

#include <filesystem>
#include <string>

#include "ranks/ranks.h"
#include "train/recipe/recipe.h"

namespace heed {

// Reads the recipe's text as training does and writes it as a prepared corpus. Returns what was read, in one line.
// Several ranks tokenize it together, and the first writes.
// ConfigError when the output exists. It is written under another name, OUTPUT.partial, and then renamed, so that it is
// complete or does not exist; what a killed process left there is removed by the next one.
std::string prepare_corpus(const Recipe& recipe, const std::filesystem::path& output, int threads,
                           const Ranks& ranks = Ranks());

}  // namespace heed
