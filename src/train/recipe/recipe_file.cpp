// Reading recipes.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/system/files.h"
#include "models/config_keys.h"
#include "train/recipe/continued_model.h"
#include "train/recipe/recipe.h"
#include "train/tasks/tasks.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

bool is_missing(const fs::path& file) {
  std::error_code none;
  return fs::status(file, none).type() == fs::file_type::not_found;
}

constexpr std::string_view kDistil = "distil";  // the task of a student: that of its teacher

using PlannedModel = std::function<const ModelConfig*(const std::string& folder)>;
using FilesOfRecipe = std::function<void(std::string& name)>;

// What decides which tables a recipe has, and with which defaults.
struct RecipeHead {
  std::string task, from, teacher;
  std::optional<Architecture> architecture;
};

RecipeHead head_of(std::string_view toml, std::string_view name, const std::vector<std::string>& overrides,
                   const FilesOfRecipe& change, const ListedTable* over) {
  RecipeHead head;
  ModelConfig model;
  SettingTable shape = model_settings(model);
  std::erase_if(shape.settings, [](const Setting& setting) { return setting.name != "architecture"; });
  const auto set = shape.settings.front().set;
  shape.settings.front().set = [&](const std::string& where, const SettingValue& value) {
    set(where, value);
    head.architecture = model.architecture;
  };
  const std::vector<SettingTable> tables{
      {"training", {setting("task", head.task), file_setting("from", head.from)}, {}},
      {"distil", {file_setting("teacher", head.teacher)}, {}},
      std::move(shape)};
  read_known_settings(toml, name, tables, over);
  change(head.from);
  change(head.teacher);
  for (const std::string& assignment : overrides) {
    override_known_setting(assignment, tables);
  }
  return head;
}

// The task that the recipe names, or else the one that trains models of its architecture, which the recipe names or the
// model that it begins from has.
const TaskKind& task_of(const RecipeHead& head, const ModelConfig* other) {
  if (!head.task.empty()) {
    return task_named(head.task);
  }
  const bool is_other = !head.architecture && other != nullptr;
  if (is_other && other->architecture == Architecture::encoder && other->head != Head::tokens &&
      other->head != Head::none) {
    return task_named(other->head == Head::token_labels ? "tag" : "classify");
  }
  const Architecture architecture = is_other ? other->architecture : head.architecture.value_or(Architecture::seq2seq);
  // A model that no task trains can still be inspected.
  const auto kind = std::ranges::find(task_kinds(), architecture, &TaskKind::architecture);
  return kind == task_kinds().end() ? task_kinds().front() : *kind;
}

// Keys that only the recipes of other tasks have, for messages.
void add_foreign_keys(std::vector<SettingTable>& tables, const TaskKind& kind) {
  for (const TaskKind& other : task_kinds()) {
    if (other.name == kind.name) {
      continue;
    }
    for (const SettingTable& table : other.defaults()->settings()) {
      const auto own = std::ranges::find(tables, table.name, &SettingTable::name);
      for (const Setting& setting : table.settings) {
        if (own != tables.end() &&
            std::ranges::find(own->settings, setting.name, &Setting::name) == own->settings.end()) {
          own->foreign.push_back(
              {setting.name, fmt::format("a key of the task {}, but this recipe's task is {}", other.name, kind.name)});
        }
      }
    }
  }
}

// The task that trains models like the teacher.
const TaskKind& task_of_student(const RecipeHead& head, std::string_view name, const PlannedModel& planned) {
  require<ConfigError>(!head.teacher.empty(), name, "training.task is \"{}\", which needs distil.teacher, a model",
                       kDistil);
  const ModelConfig* const later = is_missing(head.teacher) ? planned(head.teacher) : nullptr;
  const ModelConfig teacher = later != nullptr ? *later : load_description(ModelFolder{head.teacher}).config;
  require<ConfigError>(!head.architecture || *head.architecture == teacher.architecture, name,
                       "training.task is \"{}\", but the student is {}, and the teacher in {} is {}", kDistil,
                       describe(*head.architecture), head.teacher, describe(teacher.architecture));
  return task_of({.task = {}, .from = {}, .teacher = {}, .architecture = std::nullopt}, &teacher);
}

// Where the settings that [model] leaves out come from: the model in this folder, or defaults.
struct RecipeSource {
  FilesOfRecipe change;  // called with each file that the recipe itself names, before the overrides
  std::function<std::optional<ModelFolder>(const RecipeHead& head)> continued_folder;
  const ListedTable* over = nullptr;
  PlannedModel planned = [](const std::string&) -> const ModelConfig* { return nullptr; };
};

Recipe parsed_recipe(std::string_view toml, std::string_view name, const std::vector<std::string>& overrides,
                     const RecipeSource& source) {
  require<ConfigError>(source.over != nullptr || count_listed(toml, name, kStages) == 0, name,
                       "is a recipe of [[{}]], expected one of a single training", kStages);
  const RecipeHead head = head_of(toml, name, overrides, source.change, source.over);
  const std::optional<ModelFolder> folder = head.from.empty() ? std::nullopt : source.continued_folder(head);
  std::optional<ModelConfig> other;
  if (folder) {
    other = load_description(*folder).config;
  } else if (const ModelConfig* const later = source.planned(head.from); !head.from.empty() && later != nullptr) {
    other = *later;
  }
  const TaskKind& kind =
      head.task == kDistil ? task_of_student(head, name, source.planned) : task_of(head, other ? &*other : nullptr);
  Recipe recipe = default_recipe(kind);
  if (other) {
    recipe.model = continued_model(*other, recipe.model);
  }
  const ModelConfig continued = recipe.model;
  std::vector<SettingTable> tables = recipe_settings(recipe);
  add_foreign_keys(tables, kind);
  const std::vector<std::string> present = read_settings(toml, name, tables, source.over);
  require<ConfigError>(!head.from.empty() || std::ranges::count(present, "model") > 0, name,
                       "there is no [model] table");
  for (const SettingTable& table : tables) {
    for (const Setting& one : table.settings) {
      if (one.change_files) {
        one.change_files(source.change);
      }
    }
  }
  for (const std::string& assignment : overrides) {
    override_setting(assignment, tables);
  }
  if (recipe.training.task == kDistil) {
    recipe.training.task = kind.name;
  }
  if (folder) {
    require_form_of(*folder, continued, recipe.model, name);
  }
  return recipe;
}

}  // namespace

Recipe parse_recipe(std::string_view toml, std::string_view name, const std::vector<std::string>& overrides) {
  return parsed_recipe(
      toml, name, overrides,
      {.change = [](std::string&) {}, .continued_folder = [](const RecipeHead&) { return std::nullopt; }});
}

Recipe parse_continued_recipe(std::string_view toml, std::string_view name) {
  return parsed_recipe(
      toml, name, {},
      {.change = [](std::string&) {},
       .continued_folder = [](const RecipeHead& head) { return std::optional(ModelFolder{head.from}); }});
}

void look_beside(const std::string& file, std::string& name) {
  const fs::path beside = fs::path(file).parent_path() / name;  // the name itself where it is absolute
  std::error_code none;
  if (!name.empty() && !is_missing(beside) && !fs::equivalent(name, beside, none)) {
    name = beside.lexically_normal().string();
  }
}

Recipe read_recipe(const std::string& file, const std::vector<std::string>& overrides, const fs::path& run) {
  // A recipe that names its architecture can be planned without that model.
  const auto continued_folder = [&](const RecipeHead& head) -> std::optional<ModelFolder> {
    if (!run.empty() && fs::exists(ModelFolder{run}.config())) {
      return ModelFolder{run};
    }
    return head.architecture && is_missing(head.from) ? std::nullopt : std::optional(ModelFolder{head.from});
  };
  return parsed_recipe(
      read_file(file), file, overrides,
      {.change = [&](std::string& name) { look_beside(file, name); }, .continued_folder = continued_folder});
}

Recipe read_stage(const std::string& file, const std::vector<std::string>& overrides, const fs::path& run,
                  const StageInFile& stage) {
  const auto change = [&](std::string& name) {
    if (!stage.place(name)) {
      look_beside(file, name);
    }
  };
  const auto continued_folder = [&](const RecipeHead& head) -> std::optional<ModelFolder> {
    if (!run.empty() && fs::exists(ModelFolder{run}.config())) {
      return ModelFolder{run};
    }
    const bool is_later = stage.planned(head.from) != nullptr || head.architecture;
    return is_later && is_missing(head.from) ? std::nullopt : std::optional(ModelFolder{head.from});
  };
  return parsed_recipe(
      read_file(file), file, overrides,
      {.change = change, .continued_folder = continued_folder, .over = &stage.listed, .planned = stage.planned});
}

void require_files(const Recipe& recipe, const std::string& file, const fs::path& later) {
  const fs::path here = fs::current_path();
  const fs::path folder = fs::absolute(file).lexically_normal().parent_path();
  for (const RecipeFile& named : recipe.task->files()) {
    const bool is_later = !later.empty() && named.name.starts_with(later.string());
    if (named.name == "-" || is_later || !is_missing(named.name)) {
      continue;
    }
    const bool has_two_places = fs::path(named.name).is_relative() && folder != here;
    fail<ConfigError>(file, "{} names {}, which does not exist{}", named.key, named.name,
                      has_two_places
                          ? fmt::format(": neither beside the recipe, in {}, nor where heed was started, in {}",
                                        folder.string(), here.string())
                          : "");
  }
}

}  // namespace heed
