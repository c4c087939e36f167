// A recipe of several stages: tables that all trainings have in common, and [[stages]].
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/recipe/recipe.h"
#include "train/stages/recipe_stage.h"

namespace heed {

// Whether a file has [[stages]]. IoError or FormatError for a file that cannot be read.
bool has_stages(const std::string& file);

// Where a run of stages keeps its things, in the folder that becomes the model directory.
struct StagesFolder {
  std::filesystem::path path;

  std::filesystem::path list() const { return path / "stages.toml"; }  // says that there is such a run
  std::filesystem::path stages() const { return path / kStages; }
  bool holds(const std::string& file) const { return file.starts_with((stages() / "").string()); }
  std::filesystem::path of(const std::string& stage) const { return stages() / stage; }
  // The settings of a stage that is not a training, and what says that it, or any, is complete.
  std::filesystem::path settings(const std::string& stage) const { return of(stage) / "stage.toml"; }
  std::filesystem::path finished(const std::string& stage) const { return of(stage) / "finished"; }
};

// Stages run in the order of the file. In a name of a file, "stage:NAME" stands for the folder of an earlier stage and
// "stage:NAME/FILE" for what it leaves there; "file:NAME" for the path that [files] gives to the name.
class StagedRecipe {
 public:
  // Reads the file for a run in `folder`, which need not exist, and checks all stages. `overrides` are
  // "table.key=value" for all trainings, "files.name=value", and "stages.NAME.key=value" or
  // "stages.NAME.table.key=value" for one stage. ConfigError, with a message that a user can act on.
  StagedRecipe(std::string file, const std::vector<std::string>& overrides, const std::filesystem::path& folder);

  const StagesFolder& folder() const { return folder_; }
  const std::vector<RecipeStage>& stages() const { return stages_; }
  // The model that the run ends with: the last stage that leaves one. And the training that it comes from.
  const RecipeStage& last_model() const;
  const RecipeStage& training_of(const RecipeStage& stage) const;

  // The recipe of a train stage as it was planned, before the stages ahead of it have run.
  const Recipe& planned(const RecipeStage& stage) const { return *planned_[index_of(stage)]; }
  // The planned one with the vocabularies of the models of earlier stages, and without the one that it begins from, unless
  // it adapts that.
  Recipe sized(const RecipeStage& stage) const;
  // The recipe to be run or, in a folder that holds a run of it, to be resumed. `minutes` were taken by the stages
  // before.
  Recipe read(const RecipeStage& stage, double minutes) const;
  // ConfigError for a file of any stage that does not exist.
  void require_files() const;

  // All stages with their own settings.
  std::string to_toml() const;

 private:
  // What an override is for: all trainings, that of one stage, or a stage's own keys.
  enum class Overridden : uint8_t { trainings, training, stage };
  struct Override {
    Overridden what = Overridden::trainings;
    std::string stage, assignment;
  };

  void take_overrides(const std::vector<std::string>& overrides);
  void read_stages(const std::string& text);
  void read_stage_settings(const std::string& text, size_t number);
  void place_files(const SettingTable& table, size_t of_stage) const;
  void refuse_circles(const std::string& text) const;
  void check_from(size_t number) const;
  Recipe planned_training(size_t number) const;
  ListedTable listed(size_t number) const;
  size_t index_of(const RecipeStage& stage) const;
  size_t index_of(const std::string& name) const;
  bool place(std::string& name, size_t of_stage) const;
  std::string earlier(const std::string& reference, size_t of_stage) const;
  std::vector<std::string> overrides_of(size_t number) const;
  const ModelConfig* planned_in(const std::string& folder) const;
  Recipe read_training(size_t number, const std::filesystem::path& run) const;

  std::string file_;
  StagesFolder folder_;
  std::vector<std::pair<std::string, std::string>> files_;
  std::vector<Override> overrides_;
  std::vector<RecipeStage> stages_;
  std::vector<std::optional<Recipe>> planned_;  // of train stages
};

}  // namespace heed
