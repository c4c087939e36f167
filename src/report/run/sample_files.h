// Which files the sentences of a page come from.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/lines/text_source.h"
#include "train/recipe/recipe.h"

namespace heed {

struct SampleFiles {
  std::vector<std::filesystem::path> sources, references;
};

// The file that is asked for, or else those of the recipe's validation text that still exist.
SampleFiles sample_files(const std::string& source_file, const std::optional<Recipe>& recipe);

// A language model's sample text: the file that is asked for, or else the recipe's validation text, if all of it still
// exists.
std::optional<TextRules> passage_text(const std::string& source_file, const std::optional<Recipe>& recipe);

// Whether all of these are files that still exist.
bool are_there(const std::vector<std::string>& files);

}  // namespace heed
