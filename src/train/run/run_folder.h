// Checks of a run's folder before the run starts or is resumed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "checkpoint/model_directory.h"
#include "train/recipe/recipe.h"

namespace heed {

// Whether a run's folder was there before the run.
enum class Folder : uint8_t { existed, created };

// Creates the folder unless it exists. IoError when it cannot be created.
Folder make_folder(const std::filesystem::path& path);

// Unless keep() is called, removes everything that was added to the folder since construction, and the folder itself if
// it was created.
class NewEntries {
 public:
  NewEntries(std::filesystem::path path, Folder folder);
  ~NewEntries();
  NewEntries(const NewEntries&) = delete;
  NewEntries& operator=(const NewEntries&) = delete;

  void keep() { kept_ = true; }

 private:
  std::filesystem::path path_;
  Folder folder_;
  bool kept_ = false;
  std::set<std::filesystem::path> before_;
};

// ConfigError when the folder holds a run, or checkpoints of one.
void require_no_run(const ModelFolder& folder);

// The recipe that the run stored.
Recipe recipe_of_run(const ModelFolder& folder);

// ConfigError, naming the key, when a setting changed that a resumed run may not change. It may change when it ends,
// what it reports, and which checkpoints it keeps.
void require_same_run(const ModelFolder& folder, const Recipe& before, Recipe now);
// FormatError when config.json does not describe the recipe's model.
void require_same_model(const ModelFolder& folder, const Recipe& recipe, const ModelDescription& description);

}  // namespace heed
