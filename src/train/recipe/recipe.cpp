#include "train/recipe/recipe.h"

#include <algorithm>
#include <utility>

#include "models/config_keys.h"
#include "parallel/layout.h"
#include "train/learner/starting_model.h"
#include "train/recipe/recipe_checks.h"
#include "train/tasks/tasks.h"

namespace heed {
namespace {

SettingTable adapter_settings(AdapterConfig& adapter) {
  return {"adapter",
          {setting("rank", adapter.rank), setting("alpha", adapter.alpha), setting("dropout", adapter.dropout),
           setting("matrices", adapter.matrices)}};
}

SettingTable optimizer_settings(OptimizerConfig& optimizer) {
  return {"optimizer",
          {choice<OptimizerKind>(
               "kind", optimizer.kind,
               {{"adam", OptimizerKind::adam}, {"adamw", OptimizerKind::adamw}, {"muon", OptimizerKind::muon}}),
           setting("beta1", optimizer.beta1), setting("beta2", optimizer.beta2), setting("epsilon", optimizer.epsilon),
           setting("momentum", optimizer.momentum), setting("orthogonalization", optimizer.orthogonalization),
           setting("row_moments", optimizer.row_moments), setting("weight_decay", optimizer.weight_decay),
           choice<DecayedWeights>("decay", optimizer.decay,
                                  {{"matrices", DecayedWeights::matrices}, {"all", DecayedWeights::all}}),
           flag("cautious_decay", optimizer.cautious_decay, CautiousDecay::no, CautiousDecay::yes),
           setting("clip", optimizer.max_norm)}};
}

SettingTable schedule_settings(ScheduleConfig& schedule) {
  return {"schedule",
          {choice<ScheduleKind>("kind", schedule.kind,
                                {{"constant", ScheduleKind::constant},
                                 {"inverse-sqrt", ScheduleKind::inverse_sqrt},
                                 {"cosine", ScheduleKind::cosine},
                                 {"timed-cosine", ScheduleKind::timed_cosine},
                                 {"trapezoid", ScheduleKind::trapezoid},
                                 {"timed-trapezoid", ScheduleKind::timed_trapezoid},
                                 {"rising", ScheduleKind::rising}}),
           setting("peak", schedule.peak), setting("final", schedule.final), setting("warmup", schedule.warmup),
           setting("length", schedule.length), setting("cooldown", schedule.cooldown)}};
}

SettingTable training_settings(TrainingRecipe& training) {
  return {
      "training",
      {setting("task", training.task), file_setting("from", training.from),
       setting("from_tokenizers", training.from_tokenizers), setting("freeze", training.freeze),
       choice("precision", training.precision, kPrecisionNames), setting("seed", training.seed),
       setting("epochs", training.epochs), setting("updates", training.updates), setting("minutes", training.minutes),
       setting("accumulate", training.accumulate), setting("shards", training.shards),
       choice<WireType>(
           "gradients", training.gradients,
           {{"f32", WireType::f32}, {"bf16", WireType::bf16}, {"int8", WireType::int8}, {"int4", WireType::int4}}),
       setting("layout", training.layout), setting("local_updates", training.local_updates),
       setting("outer_rate", training.outer.rate), setting("outer_momentum", training.outer.momentum),
       setting("smoothing", training.smoothing), setting("log_every", training.log_every)}};
}

SettingTable distil_settings(DistilRecipe& distil) {
  return {"distil",
          {file_setting("teacher", distil.teacher), setting("temperature", distil.temperature),
           setting("weight", distil.weight)}};
}

SettingTable validation_settings(ValidationRecipe& validation) {
  return {"validation", {setting("every", validation.every), setting("patience", validation.patience)}};
}

SettingTable checkpoint_settings(CheckpointRecipe& checkpoints) {
  return {"checkpoints",
          {setting("every", checkpoints.every), setting("keep", checkpoints.keep),
           setting("average", checkpoints.average), setting("moving_average", checkpoints.moving_average),
           choice<FinalWeights>("final", checkpoints.final_weights,
                                {{"last", FinalWeights::last},
                                 {"best", FinalWeights::best},
                                 {"average-of-last", FinalWeights::average_of_last},
                                 {"average-of-best", FinalWeights::average_of_best},
                                 {"moving-average", FinalWeights::moving_average}})}};
}

constexpr double kMaxTemperature = 1000.0;
constexpr int64_t kMaxEpochs = 1'000'000'000;

void check_run(const Recipe& recipe) {
  const TrainingRecipe& training = recipe.training;
  check_between("training.epochs", training.epochs, {0, kMaxEpochs});
  check_at_least("training.updates", training.updates, 0);
  check_at_least("training.minutes", training.minutes, 0.0);
  check(training.epochs > 0 || training.updates > 0 || training.minutes > 0.0 || recipe.validation.patience > 0,
        "nothing would end the run: set training.epochs, updates or minutes, or validation.patience");
  validate_update(training);
  parse_layout(training.layout, 0, "recipe: training.layout");
  check_at_least("training.local_updates", training.local_updates, 0);
  check(!is_integer(training.gradients) || training.local_updates > 0,
        "training.gradients = \"int8\" and \"int4\" are for differences of weights: they need training.local_updates");
  check(training.outer.rate > 0.0 && training.outer.rate <= 2.0,
        "training.outer_rate is {}, expected above 0 and at most 2", training.outer.rate);
  check_fraction("training.outer_momentum", training.outer.momentum);
  check_at_least("training.log_every", training.log_every, 1);
  check_fraction("training.smoothing", training.smoothing);
}

void check_distil(const Recipe& recipe) {
  const DistilRecipe& distil = recipe.distil;
  check(distil.temperature > 0.0 && distil.temperature <= kMaxTemperature,
        "distil.temperature is {}, expected above 0 and at most {}", distil.temperature, kMaxTemperature);
  check_between("distil.weight", distil.weight, {0.0, 1.0});
  const Head head = recipe.model.head;
  check(distil.teacher.empty() || (head != Head::several_labels && head != Head::number),
        "distil.teacher is for probabilities of tokens or of one label, but model.head is \"{}\"",
        head == Head::number ? "number" : "labels");
}

void check_validation(const Recipe& recipe) {
  const ValidationRecipe& validation = recipe.validation;
  const CheckpointRecipe& checkpoints = recipe.checkpoints;
  const bool has_text = recipe.task->has_validation_text();
  check_at_least("validation.every", validation.every, 0);
  check_at_least("validation.patience", validation.patience, 0);
  check(validation.patience == 0 || has_text, "validation.patience needs {}", recipe.task->validation_key());
  check_at_least("checkpoints.every", checkpoints.every, 0);
  check_at_least("checkpoints.keep", checkpoints.keep, 1);
  check_at_least("checkpoints.average", checkpoints.average, 1);
  check_fraction("checkpoints.moving_average", checkpoints.moving_average);
  check(checkpoints.final_weights != FinalWeights::moving_average || checkpoints.moving_average > 0.0,
        "checkpoints.final is \"moving-average\", but there is none: set checkpoints.moving_average");
  const bool of_validated =
      checkpoints.final_weights != FinalWeights::last && checkpoints.final_weights != FinalWeights::moving_average;
  check(!of_validated || has_text,
        "checkpoints.final chooses among validated weights, which needs {}; otherwise set it to \"last\"",
        recipe.task->validation_key());
}

// Two labels, for a model whose labels are not known before its data is read.
void name_labels(ModelConfig& model) {
  if (model.labels.empty() && model.has_labels()) {
    model.labels = {"0", "1"};
  }
}

// Runs the check, whose errors begin with `name`.
template <class Check>
void check_as(std::string_view name, Check check_model) {
  try {
    check_model();
  } catch (const ConfigError& error) {
    fail<ConfigError>(name, "{}", error.what());
  }
}

// Checks the model before its vocabulary sizes are known.
void check_model(const Recipe& recipe) {
  check_at_least("model.source_vocabulary", recipe.model.source_vocabulary, 0);
  check_at_least("model.target_vocabulary", recipe.model.target_vocabulary, 0);
  check_as("recipe", [&] { model_of_any_text(recipe).validate(); });
}

}  // namespace

Recipe::Recipe(std::string_view task_name, ModelConfig model_of_task, std::unique_ptr<TaskRecipe> defaults)
    : model(std::move(model_of_task)), task(std::move(defaults)) {
  training.task = task_name;
}

Recipe::Recipe(const Recipe& other)
    : model(other.model),
      adapter(other.adapter),
      optimizer(other.optimizer),
      schedule(other.schedule),
      training(other.training),
      distil(other.distil),
      validation(other.validation),
      checkpoints(other.checkpoints),
      prepared(other.prepared),
      task(other.task->clone()) {}

Recipe& Recipe::operator=(const Recipe& other) { return *this = Recipe(other); }

void Recipe::validate() const {
  const TaskKind& kind = task_named(training.task);
  check(model.architecture == kind.architecture, "training.task \"{}\" trains {}, but model.architecture is {}",
        kind.name, describe(kind.architecture), describe(model.architecture));
  check_model(*this);
  task->validate(*this);
  validate_adapter(*this);
  optimizer.validate();
  schedule.validate();
  require<ConfigError>(!is_timed(schedule.kind) || training.minutes > 0.0, "schedule",
                       "a timed schedule needs training.minutes, over which it goes down");
  check_run(*this);
  check_distil(*this);
  check_validation(*this);
}

void Recipe::validate_for_new_run() const {
  validate();
  check_as("recipe", [this] { refuse_settings_without_effect(model); });
}

void validate_adapter(const Recipe& recipe) {
  recipe.adapter.validate();
  check(recipe.adapter.rank == 0 || !recipe.training.from.empty(),
        "adapter.rank is {}, but there is no model to adapt: set training.from", recipe.adapter.rank);
  check(recipe.adapter.rank == 0 || recipe.optimizer.kind != OptimizerKind::muon,
        "optimizer.kind is \"muon\", which makes the step of a whole matrix orthogonal, but an adapter trains the "
        "factors B and A of a step of rank {}: set \"adamw\" or \"adam\"",
        recipe.adapter.rank);
}

void validate_update(const TrainingRecipe& training) {
  check_at_least("training.accumulate", training.accumulate, 1);
  check(training.shards >= 0 && training.shards % training.accumulate == 0,
        "training.shards is {}, expected a multiple of training.accumulate, which is {}", training.shards,
        training.accumulate);
}

DType storage_of(Precision precision) { return precision == Precision::f32 ? DType::f32 : DType::bf16; }

std::string model_of_tokenizers(const Recipe& recipe) {
  const TrainingRecipe& training = recipe.training;
  if (!tokenizer_files(recipe).empty()) {
    return {};
  }
  return !training.from.empty() && training.from_tokenizers ? training.from : recipe.distil.teacher;
}

std::vector<std::string> tokenizer_files(const Recipe& recipe) {
  std::vector<std::string> files;
  for (const RecipeFile& file : recipe.task->files()) {
    if (file.key.starts_with("tokenizer.")) {
      files.push_back(file.name);
    }
  }
  return files;
}

void add_files(std::vector<RecipeFile>& files, const std::string& key, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    files.push_back({key, name});
  }
}

std::vector<SettingTable> recipe_settings(Recipe& recipe) {
  std::vector<SettingTable> tables{model_settings(recipe.model)};
  std::vector<SettingTable> common{adapter_settings(recipe.adapter),       optimizer_settings(recipe.optimizer),
                                   schedule_settings(recipe.schedule),     training_settings(recipe.training),
                                   distil_settings(recipe.distil),         validation_settings(recipe.validation),
                                   checkpoint_settings(recipe.checkpoints)};
  for (SettingTable& own : recipe.task->settings()) {
    const auto same = std::ranges::find(common, own.name, &SettingTable::name);
    if (own.name == "data") {
      own.settings.push_back(file_setting("prepared", recipe.prepared));
    }
    if (same == common.end()) {
      tables.push_back(std::move(own));
    } else {
      same->settings.insert(same->settings.end(), own.settings.begin(), own.settings.end());
    }
  }
  tables.insert(tables.end(), common.begin(), common.end());
  return tables;
}

std::vector<RecipeDifference> differences(const Recipe& before, const Recipe& now) {
  if (before.training.task != now.training.task) {
    return {{"training.task", before.training.task, now.training.task}};
  }
  Recipe first = before, second = now;
  const std::vector<SettingTable> left = recipe_settings(first), right = recipe_settings(second);
  std::vector<RecipeDifference> found;
  for (size_t table = 0; table < left.size(); ++table) {
    for (size_t i = 0; i < left[table].settings.size(); ++i) {
      const Setting &a = left[table].settings[i], &b = right[table].settings[i];
      if (a.show() != b.show()) {
        found.push_back({left[table].name + "." + a.name, a.show(), b.show()});
      }
    }
  }
  return found;
}

ModelConfig model_of_any_text(const Recipe& recipe) {
  ModelConfig model = recipe.model;
  model.source_vocabulary = model.target_vocabulary = 1;
  name_labels(model);
  return model;
}

ModelConfig sized_model(const Recipe& recipe, std::string_view name) {
  ModelConfig model = recipe.model;
  const std::span<const TokenizerRole> roles = tokenizer_roles(model.architecture);
  const auto is_open = [&](const TokenizerRole& role) { return model.*role.vocabulary == 0; };
  if (std::ranges::any_of(roles, is_open)) {
    const std::vector<int64_t> sizes =
        takes_tokenizers(recipe) ? vocabulary_sizes_of(ModelFolder{model_of_tokenizers(recipe)}, model.architecture)
                                 : recipe.task->vocabulary_sizes();
    for (size_t i = 0; i < std::min(sizes.size(), roles.size()); ++i) {
      model.*roles[i].vocabulary = is_open(roles[i]) ? sizes[i] : model.*roles[i].vocabulary;
    }
  }
  name_labels(model);
  check_as(name, [&] {
    model.validate();
    refuse_settings_without_effect(model);
  });
  return model;
}

std::string to_toml(const Recipe& recipe) {
  Recipe copy = recipe;
  return to_toml(recipe_settings(copy));
}

}  // namespace heed
