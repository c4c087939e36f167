#include "train/stages/staged_recipe.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/system/files.h"

namespace heed {
namespace {

constexpr std::string_view kFiles = "files";
constexpr std::string_view kStagePrefix = "stage:", kFilePrefix = "file:", kStagesPrefix = "stages.",
                           kFilesPrefix = "files.";
constexpr double kLeastShare = 0.1;  // of the planned time, for a training to which the stages before have left none

// The stage that "stage:NAME/FILE" names.
std::string stage_named_in(std::string_view reference) {
  const std::string_view rest = reference.substr(kStagePrefix.size());
  return std::string(rest.substr(0, rest.find('/')));
}

bool is_stage_name(std::string_view name) {
  constexpr std::string_view kMarks = "-_";
  return !name.empty() && std::ranges::all_of(name, [&](unsigned char c) {
    return std::isalnum(c) != 0 || kMarks.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

// Names and kinds, which the other settings depend on.
std::vector<RecipeStage> named_stages(const std::string& text, const std::string& file) {
  std::vector<RecipeStage> stages(count_listed(text, file, kStages));
  for (size_t i = 0; i < stages.size(); ++i) {
    RecipeStage& stage = stages[i];
    read_known_listed(
        text, file, {kStages, i, {}},
        {"stage",
         {setting("name", stage.name), choice("kind", stage.kind, kStageKindNames), setting("from", stage.from)},
         {}});
    require<ConfigError>(is_stage_name(stage.name), file,
                         "stage {} is called '{}', expected a name of letters, digits, - and _", i + 1, stage.name);
    for (size_t before = 0; before < i; ++before) {
      require<ConfigError>(stages[before].name != stage.name, file, "two stages are called '{}'", stage.name);
    }
  }
  return stages;
}

}  // namespace

bool has_stages(const std::string& file) {
  const std::string text = read_file(file);
  return text.find(kStages) != std::string::npos && count_listed(text, file, kStages) > 0;
}

StagedRecipe::StagedRecipe(std::string file, const std::vector<std::string>& overrides,
                           const std::filesystem::path& folder)
    : file_(std::move(file)), folder_{folder.lexically_normal()} {
  const std::string text = read_file(file_);
  files_ = read_names(text, file_, kFiles);
  for (auto& [name, path] : files_) {
    look_beside(file_, path);
  }
  stages_ = named_stages(text, file_);
  take_overrides(overrides);
  refuse_circles(text);
  read_stages(text);
  require<ConfigError>(std::ranges::any_of(stages_, &RecipeStage::leaves_model), file_,
                       "no stage leaves a model: none trains or quantizes one");
}

void StagedRecipe::take_overrides(const std::vector<std::string>& overrides) {
  for (const std::string& assignment : overrides) {
    const std::string where = "--set " + assignment;
    if (assignment.starts_with(kFilesPrefix)) {
      const size_t equals = assignment.find('=');
      require<ConfigError>(equals != std::string::npos, where, "expected files.name=value");
      const std::string name = assignment.substr(kFilesPrefix.size(), equals - kFilesPrefix.size());
      const auto known = std::ranges::find(files_, name, &std::pair<std::string, std::string>::first);
      require<ConfigError>(known != files_.end(), where, "[files] of {} has no '{}'", file_, name);
      known->second = assignment.substr(equals + 1);
    } else if (assignment.starts_with(kStagesPrefix)) {
      const std::string rest = assignment.substr(kStagesPrefix.size());
      const size_t dot = std::min(rest.find('.'), rest.find('='));
      require<ConfigError>(dot != std::string::npos && rest[dot] == '.', where,
                           "expected stages.NAME.key=value or stages.NAME.table.key=value");
      const std::string name = rest.substr(0, dot);
      const RecipeStage& stage = stages_[index_of(name)];
      const size_t second = rest.find('.', dot + 1);
      const bool is_own = second == std::string::npos || second > rest.find('=');
      // A key of the stage itself, or one of a table of its recipe.
      require<ConfigError>(is_own || stage.kind == StageKind::train, where, "a {} stage has no tables",
                           name_of(stage.kind));
      overrides_.push_back(
          {is_own ? Overridden::stage : Overridden::training, name, is_own ? rest : rest.substr(dot + 1)});
    } else {
      overrides_.push_back({Overridden::trainings, "", assignment});
    }
  }
}

// Each stage may name those before it, so that a circle has a name that leads on in the file.
void StagedRecipe::refuse_circles(const std::string& text) const {
  std::vector<std::vector<size_t>> named(stages_.size());
  for (size_t i = 0; i < stages_.size(); ++i) {
    std::vector<std::string> names{stages_[i].from};
    for (const std::string& found : texts_in_listed(text, file_, listed(i))) {
      names.push_back(found.starts_with(kStagePrefix) ? stage_named_in(found) : "");
    }
    for (const std::string& name : names) {
      if (!name.empty()) {
        named[i].push_back(index_of(name));
      }
    }
  }
  for (size_t start = 0; start < stages_.size(); ++start) {
    // The way from each stage that is reached back to the start.
    std::vector<std::string> ways(stages_.size());
    std::vector<size_t> open{start};
    ways[start] = stages_[start].name;
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      for (const size_t next : named[at]) {
        require<ConfigError>(next != start, file_, "stages name each other in a circle: {} -> {}", ways[at],
                             stages_[start].name);
        if (ways[next].empty()) {
          ways[next] = ways[at] + " -> " + stages_[next].name;
          open.push_back(next);
        }
      }
    }
  }
}

void StagedRecipe::read_stages(const std::string& text) {
  planned_.resize(stages_.size());
  for (size_t i = 0; i < stages_.size(); ++i) {
    read_stage_settings(text, i);
    check_from(i);
    if (stages_[i].kind == StageKind::train) {
      planned_[i].emplace(planned_training(i));
    }
    try {
      validate(stages_[i]);
      if (planned_[i]) {
        planned_[i]->validate_for_new_run();
      }
    } catch (const ConfigError& error) {
      fail<ConfigError>(file_, "stage {}: {}", stages_[i].name, error.what());
    }
  }
}

void StagedRecipe::read_stage_settings(const std::string& text, size_t number) {
  RecipeStage& stage = stages_[number];
  const std::string name = stage.name;
  const StageKind kind = stage.kind;
  const std::vector<SettingTable> tables{stage_settings(stage)};
  read_listed(text, file_, listed(number), tables.front(),
              kind == StageKind::train ? InnerTables::skipped : InnerTables::refused);
  place_files(tables.front(), number);
  for (const Override& change : overrides_) {
    if (change.what == Overridden::stage && change.stage == name) {
      override_setting(change.assignment, tables);
    }
  }
  place_files(tables.front(), number);
  require<ConfigError>(stage.name == name && stage.kind == kind, file_,
                       "--set cannot change the name or the kind of stage {}", name);
}

// Names that have their paths already keep them.
void StagedRecipe::place_files(const SettingTable& table, size_t of_stage) const {
  for (const Setting& one : table.settings) {
    if (one.change_files) {
      one.change_files([&](std::string& file) {
        if (!place(file, of_stage)) {
          look_beside(file_, file);
        }
      });
    }
  }
}

void StagedRecipe::check_from(size_t number) const {
  const RecipeStage& stage = stages_[number];
  if (stage.from.empty()) {
    return;
  }
  const size_t from = index_of(stage.from);
  require<ConfigError>(from != number, file_, "stage {} cannot begin from itself", stage.name);
  require<ConfigError>(from < number, file_, "stage {} cannot begin from {}, which comes after it", stage.name,
                       stage.from);
  require<ConfigError>(stages_[from].leaves_model(), file_,
                       "stage {} is from {}, which leaves no model: it is a {} stage", stage.name, stage.from,
                       name_of(stages_[from].kind));
  const bool needs_floats = stage.kind == StageKind::train || stage.kind == StageKind::quantize;
  require<ConfigError>(!needs_floats || stages_[from].kind == StageKind::train, file_,
                       "stage {} is from {}, whose weights are quantized: name the training before it", stage.name,
                       stage.from);
}

const RecipeStage& StagedRecipe::last_model() const {
  size_t last = 0;
  for (size_t i = 0; i < stages_.size(); ++i) {
    last = stages_[i].leaves_model() ? i : last;
  }
  return stages_[last];
}

const RecipeStage& StagedRecipe::training_of(const RecipeStage& stage) const {
  return stage.kind == StageKind::train || stage.from.empty() ? stage : stages_[index_of(stage.from)];
}

Recipe StagedRecipe::sized(const RecipeStage& stage) const {
  Recipe recipe = planned(stage);
  const std::string of_tokenizers = model_of_tokenizers(recipe);
  for (const RecipeStage& other : stages_) {
    if (folder_.of(other.name) == of_tokenizers && training_of(other).kind == StageKind::train) {
      const ModelConfig from = sized_model(sized(training_of(other)), file_);
      recipe.model.source_vocabulary = from.source_vocabulary;
      recipe.model.target_vocabulary = from.target_vocabulary;
    }
  }
  if (!stage.from.empty() && recipe.adapter.rank == 0) {
    recipe.training.from.clear();
  }
  return recipe;
}

Recipe StagedRecipe::read(const RecipeStage& stage, double minutes) const {
  Recipe recipe = read_training(index_of(stage), folder_.of(stage.name));
  if (stage.ends_by > 0.0) {
    recipe.training.minutes = std::max(kLeastShare * planned(stage).training.minutes, stage.ends_by - minutes);
  }
  return recipe;
}

void StagedRecipe::require_files() const {
  for (size_t i = 0; i < stages_.size(); ++i) {
    RecipeStage stage = stages_[i];
    if (planned_[i] && planned_[i]->prepared.empty()) {
      heed::require_files(*planned_[i], file_, folder_.stages() / "");
    }
    for (const Setting& one : stage_settings(stage).settings) {
      if (one.change_files) {
        one.change_files([&](std::string& name) {
          require<ConfigError>(name.empty() || folder_.holds(name) || std::filesystem::exists(name), file_,
                               "stage {} names {} as its {}, which does not exist", stage.name, name, one.name);
        });
      }
    }
  }
}

std::string StagedRecipe::to_toml() const {
  std::string text;
  for (RecipeStage stage : stages_) {
    text += text.empty() ? "" : "\n";
    text += fmt::format("[[{}]]\n", kStages);
    for (const Setting& one : stage_settings(stage).settings) {
      text += fmt::format("{} = {}\n", one.name, one.show());
    }
  }
  return text;
}

ListedTable StagedRecipe::listed(size_t number) const { return {kStages, number, {kFiles}}; }

size_t StagedRecipe::index_of(const RecipeStage& stage) const { return index_of(stage.name); }

size_t StagedRecipe::index_of(const std::string& name) const {
  const auto found = std::ranges::find(stages_, name, &RecipeStage::name);
  if (found == stages_.end()) {
    std::vector<std::string_view> names;
    std::ranges::transform(stages_, std::back_inserter(names),
                           [](const RecipeStage& stage) { return std::string_view(stage.name); });
    fail<ConfigError>(file_, "there is no stage '{}'{}", name, suggest_name(name, names));
  }
  return static_cast<size_t>(found - stages_.begin());
}

bool StagedRecipe::place(std::string& name, size_t of_stage) const {
  if (name.starts_with(kFilePrefix)) {
    const std::string wanted = name.substr(kFilePrefix.size());
    const auto known = std::ranges::find(files_, wanted, &std::pair<std::string, std::string>::first);
    require<ConfigError>(known != files_.end(), file_, "stage {} names {}, but [files] has no '{}'",
                         stages_[of_stage].name, name, wanted);
    name = known->second;
    return true;
  }
  if (name.starts_with(kStagePrefix)) {
    name = earlier(name, of_stage);
    return true;
  }
  return folder_.holds(name);
}

// The path of "stage:NAME/FILE".
std::string StagedRecipe::earlier(const std::string& reference, size_t of_stage) const {
  const std::string name = stage_named_in(reference);
  const size_t named = index_of(name);
  const RecipeStage& stage = stages_[named];
  require<ConfigError>(named != of_stage, file_, "stage {} cannot name itself", name);
  require<ConfigError>(named < of_stage, file_, "stage {} names {}, which comes after it", stages_[of_stage].name,
                       name);
  const std::string rest = reference.substr(kStagePrefix.size() + name.size());
  const std::string result = rest.empty() ? rest : rest.substr(1);
  require<ConfigError>(
      std::ranges::count(stage.results(), result) > 0, file_, "stage {} names {}, but a {} stage leaves {}",
      stages_[of_stage].name, reference, name_of(stage.kind),
      stage.leaves_model() ? fmt::format("{}{}", kStagePrefix, name)
                           : fmt::format("{}{}/{}", kStagePrefix, name, fmt::join(stage.results(), " and ")));
  return (result.empty() ? folder_.of(name) : folder_.of(name) / result).string();
}

// With `from` as training.from, which the user's own come after.
std::vector<std::string> StagedRecipe::overrides_of(size_t number) const {
  const RecipeStage& stage = stages_[number];
  std::vector<std::string> chosen;
  if (!stage.from.empty()) {
    chosen.push_back("training.from=" + folder_.of(stage.from).string());
  }
  for (const Overridden what : {Overridden::trainings, Overridden::training}) {
    for (const Override& change : overrides_) {
      if (change.what == what && (what == Overridden::trainings || change.stage == stage.name)) {
        chosen.push_back(change.assignment);
      }
    }
  }
  return chosen;
}

// A stage that has an end gets the time since the end before it, as if the stages between took none.
Recipe StagedRecipe::planned_training(size_t number) const {
  Recipe recipe = read_training(number, {});
  const RecipeStage& stage = stages_[number];
  if (stage.ends_by > 0.0) {
    require<ConfigError>(recipe.training.minutes == 0.0, file_,
                         "stage {} has ends_by, which says how long it may take: leave out training.minutes",
                         stage.name);
    double before = 0.0;
    for (const RecipeStage& other : std::span(stages_).first(number)) {
      before = std::max(before, other.ends_by);
    }
    require<ConfigError>(stage.ends_by > before, file_,
                         "stage {} ends by minute {:g}, expected more than {:g}, the end of a stage before it",
                         stage.name, stage.ends_by, before);
    recipe.training.minutes = stage.ends_by - before;
  }
  return recipe;
}

// The model that a stage is to leave in this folder.
const ModelConfig* StagedRecipe::planned_in(const std::string& folder) const {
  for (const RecipeStage& stage : stages_) {
    if (folder_.of(stage.name) == folder) {
      const std::optional<Recipe>& recipe = planned_[index_of(training_of(stage))];
      return recipe ? &recipe->model : nullptr;
    }
  }
  return nullptr;
}

Recipe StagedRecipe::read_training(size_t number, const std::filesystem::path& run) const {
  return read_stage(file_, overrides_of(number), run,
                    {.listed = listed(number),
                     .place = [this, number](std::string& name) { return place(name, number); },
                     .planned = [this](const std::string& model) { return planned_in(model); }});
}

}  // namespace heed
