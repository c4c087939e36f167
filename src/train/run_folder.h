// What the folder of a run holds, and whether it fits the run that is to go on.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "checkpoint/model_directory.h"
#include "train/recipe.h"

namespace heed {

// Makes the folder where there is none. What came into it since goes again, unless it is to be kept.
class NewEntries {
 public:
  explicit NewEntries(const std::filesystem::path& folder);
  ~NewEntries();
  NewEntries(const NewEntries&) = delete;
  NewEntries& operator=(const NewEntries&) = delete;

  void keep() { kept_ = true; }

 private:
  std::filesystem::path folder_;
  bool made_;
  bool kept_ = false;
  std::set<std::filesystem::path> before_;
};

// Notes their names in the description.
void save_tokenizers(const ModelFolder& folder, const TokenizerPair& tokenizers, ModelDescription& description);

// ConfigError, with the key, when more changed than a resumed run may change: when it ends, what is said about it, and
// what is kept.
void require_same_run(const ModelFolder& folder, const Recipe& before, Recipe now);
// FormatError when config.json is not of the recipe's model.
void require_same_model(const ModelFolder& folder, const Recipe& recipe, const ModelDescription& description);

}  // namespace heed
