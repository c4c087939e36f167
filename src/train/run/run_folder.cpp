#include "train/run/run_folder.h"

#include <algorithm>
#include <array>
#include <set>
#include <system_error>
#include <utility>

namespace heed {
namespace {

// The keys that may change when a run is resumed: when it ends, what it reports, which checkpoints it keeps, and
// whether the same text is read or was prepared.
constexpr std::array kMayChange{
    std::string_view("training.epochs"),     std::string_view("training.updates"),
    std::string_view("training.minutes"),    std::string_view("training.log_every"),
    std::string_view("validation.patience"), std::string_view("checkpoints.keep"),
    std::string_view("checkpoints.average"), std::string_view("checkpoints.final"),
    std::string_view("data.prepared"),       std::string_view("training.layout"),
};

std::set<std::filesystem::path> entries_of(const std::filesystem::path& folder) {
  std::error_code none;
  std::set<std::filesystem::path> entries;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder, none)) {
    entries.insert(entry.path());
  }
  return entries;
}

}  // namespace

void require_no_run(const ModelFolder& folder) {
  std::set<std::filesystem::path> taken{folder.recipe(), folder.weights()};
  taken.merge(entries_of(folder.checkpoints()));
  for (const std::filesystem::path& path : taken) {
    // A run that was killed while it started may have left its first state, from which nothing can be resumed.
    const bool first_state = path.filename().string().starts_with("update-00000000");
    require<ConfigError>(first_state || !std::filesystem::exists(path), folder.path.string(),
                         "holds a run already ({}): resume it, or choose another folder", path.filename().string());
  }
}

Recipe recipe_of_run(const ModelFolder& folder) {
  return parse_recipe(read_file(folder.recipe()), folder.recipe().string(), {});
}

void require_same_run(const ModelFolder& folder, const Recipe& before, Recipe now) {
  now.model.source_vocabulary = before.model.source_vocabulary;
  now.model.target_vocabulary = before.model.target_vocabulary;
  if (now.model.labels.empty()) {
    now.model.labels = before.model.labels;
  }
  for (const RecipeDifference& difference : differences(before, now)) {
    require<ConfigError>(std::ranges::count(kMayChange, difference.key) > 0, folder.recipe().string(),
                         "{} was {} and is {} now; a run that is resumed may change its limits, training.log_every, "
                         "training.layout, validation.patience and which checkpoints are kept",
                         difference.key, difference.before, difference.now);
  }
}

void require_same_model(const ModelFolder& folder, const Recipe& recipe, const ModelDescription& description) {
  Recipe described = recipe;
  described.model = description.config;
  const std::vector<RecipeDifference> found = differences(recipe, described);
  if (!found.empty()) {
    fail<FormatError>(folder.config().string(), "{} is {}, but the run's recipe.toml says {}: put the right one back",
                      found.front().key, found.front().now, found.front().before);
  }
}

}  // namespace heed
