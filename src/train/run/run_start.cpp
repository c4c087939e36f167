#include "train/run/run_start.h"

#include <utility>

#include "base/system/new_folder.h"
#include "checkpoint/chat_template_file.h"
#include "checkpoint/weights.h"
#include "kernels/arithmetic.h"
#include "parallel/rank_checks.h"
#include "text/vocabulary/vocabulary.h"
#include "train/corpus/prepared_corpus.h"
#include "train/learner/adapter_training.h"
#include "train/learner/final_weights.h"
#include "train/learner/starting_model.h"
#include "train/learner/teacher.h"
#include "train/learner/weight_treatments.h"
#include "train/run/run_folder.h"

namespace heed {
namespace {

constexpr std::string_view kBusy = "another process trains in this folder: wait for it, or choose another folder";

// A run before memory is allocated for it.
struct PlannedRun {
  Recipe recipe;  // with what the text decides about the model
  Distribution ranks;
  std::unique_ptr<Task> task;
  WeightPlan weights;
  ModelMarks marks;
  // Where the run begins from another model:
  std::optional<StartingModel> from;
  TakenWeights taken;
  std::unique_ptr<Teacher> teacher;  // where the run has one

  bool adapts() const { return recipe.adapter.rank > 0; }
};

// What a run takes from the model that it goes on from: another one, or itself where it was stopped.
struct TakenText {
  Tokenizers tokenizers;  // none: the recipe's, or learned from the text
  ModelMarks marks;
  ModelFolder folder;
};

// Reads the text.
PlannedRun read_text(const RunRequest& request, const Recipe& recipe, Distribution ranks, const TakenText& text) {
  Backend& backend = request.backend;
  const DType storage = storage_of(recipe.training.precision);
  require<ConfigError>(backend.supports(storage), "training.precision", "{} is not supported by the {} backend",
                       name_of(storage), backend.name());
  if (!ranks.all().is_alone()) {
    request.listener.on_message(fmt::format("layout of {} ranks: {}", ranks.all().count(), ranks.layout_text()));
  }
  PlannedRun plan{recipe, std::move(ranks), nullptr, {}, text.marks, std::nullopt, {}, nullptr};
  TaskSetup setup{.tokenizers = text.tokenizers.empty() ? nullptr : &text.tokenizers,
                  .marks = text.marks,
                  .folder = text.folder,
                  .threads = backend.threads(),
                  .backend = &request.backend,
                  .spill_folder = nearest_folder(request.folder.path)};
  const std::unique_ptr<const PreparedCorpus> prepared = open_prepared_corpus(recipe, setup);
  if (!recipe.distil.teacher.empty()) {
    require<ConfigError>(!plan.ranks.divides_model() && !plan.ranks.divides_layers(), "distil.teacher",
                         "needs whole models on each rank, but the layout is {}: set training.layout to \"data=N\"",
                         plan.ranks.layout_text());
    if (plan.recipe.model.labels.empty()) {
      plan.recipe.model.labels = Teacher::labels_of(recipe);
    }
  }
  plan.task = recipe.task->make_task(plan.recipe, setup);
  request.listener.on_message(
      fmt::format("training text{}: {}", prepared ? " (prepared)" : "", plan.task->describe_text()));
  ModelConfig& model = plan.recipe.model;
  const std::span<const TokenizerRole> roles = tokenizer_roles(model.architecture);
  for (size_t i = 0; i < roles.size(); ++i) {
    model.*roles[i].vocabulary = plan.task->tokenizers()[i]->vocabulary_size();
  }
  plan.task->complete(model);
  plan.task->complete(plan.marks);
  model.validate();
  if (!recipe.distil.teacher.empty()) {
    plan.teacher = std::make_unique<Teacher>(plan.recipe, plan.task->tokenizers(), request.backend);
    request.listener.on_message(
        fmt::format("learns from {} parameters in {}", plan.teacher->parameters(), recipe.distil.teacher));
  }
  plan.weights.registered = std::make_unique<RegisteredModel>(plan.recipe, plan.ranks);
  return plan;
}

// Says which tokenizers are taken.
TakenText taken_text(const StartingModel& from, const RunRequest& request) {
  TakenText text{.tokenizers = starting_tokenizers(request.recipe, from), .marks = {}, .folder = from.folder()};
  if (!text.tokenizers.empty()) {
    text.marks = from.marks_for(request.recipe.model.architecture);
    request.listener.on_message(
        fmt::format("tokenizer: that of {}, instead of what [tokenizer] says (training.from_tokenizers)",
                    request.recipe.training.from));
  }
  return text;
}

// A student without a tokenizer of its own has its teacher's.
TakenText teachers_text(const RunRequest& request, TakenText text) {
  const std::string& teacher = request.recipe.distil.teacher;
  if (text.tokenizers.empty() && !teacher.empty() && model_of_tokenizers(request.recipe) == teacher) {
    const ModelDescription description = load_description(ModelFolder{teacher});
    text.tokenizers = load_tokenizers(ModelFolder{teacher}, description);
    text.marks = description.marks;
    request.listener.on_message(fmt::format("tokenizer: that of {}, the teacher", teacher));
  }
  return text;
}

PlannedRun plan_new_run(const RunRequest& request) {
  const Recipe& recipe = request.recipe;
  recipe.validate_for_new_run();
  Distribution ranks(recipe, request.ranks);
  // Before time is spent on reading the text.
  if (ranks.is_first()) {
    require_no_run(request.folder);
    require_writable(request.folder.path);
  }
  check_treatments(recipe);
  std::optional<StartingModel> from;
  if (!recipe.training.from.empty()) {
    from.emplace(ModelFolder{recipe.training.from}, starting_weights(recipe.adapter));
  }
  PlannedRun plan = read_text(request, recipe, std::move(ranks),
                              teachers_text(request, from ? taken_text(*from, request) : TakenText()));
  const Weights& weights = plan.weights.registered->weights;
  if (from) {
    plan.taken = from->match(weights, plan.recipe.model, plan.task->tokenizers());
    request.listener.on_message(plan.taken.text("metrics.jsonl"));
  }
  plan.weights.treatments = treatments_after(plan.taken, recipe, weights);
  if (const std::string text = frozen_at_random(plan.taken, weights, plan.weights.treatments); from && !text.empty()) {
    request.listener.on_message(text);
  }
  plan.from = std::move(from);
  return plan;
}

PlannedRun plan_resumed_run(const RunRequest& request) {
  const ModelFolder& folder = request.folder;
  Recipe recipe = request.recipe;
  const Recipe before = recipe_of_run(folder);
  require_same_run(folder, before, recipe);
  take_prepared_corpus(before, recipe, request.listener);
  const ModelDescription description = load_description(folder);
  require_same_model(folder, before, description);
  PlannedRun plan = read_text(request, recipe, Distribution(recipe, request.ranks),
                              {load_tokenizers(folder, description), description.marks, folder});
  plan.weights.treatments = treatments_of_run(folder, recipe, plan.weights.registered->weights);
  return plan;
}

std::unique_ptr<ModelInTraining> allocate(Backend& backend, PlannedRun& plan) {
  return std::make_unique<ModelInTraining>(backend, plan.recipe, plan.ranks, std::move(plan.weights));
}

// With drawn weights, and those that it takes from another model.
std::unique_ptr<ModelInTraining> initialized_model(Backend& backend, PlannedRun& plan) {
  std::unique_ptr<ModelInTraining> model = allocate(backend, plan);
  model->trainables.initialize(backend, static_cast<uint64_t>(plan.recipe.training.seed));
  if (plan.from) {
    plan.from->copy(plan.taken, backend, model->trainables);
  }
  if (model->average) {
    model->average->begin();
  }
  return model;
}

TrainingState load_newest_state(ModelInTraining& model, const Distribution& ranks, const ModelFolder& folder) {
  const Checkpoints checkpoints(folder.checkpoints());
  const std::vector<int64_t> saved = checkpoints.resumable();
  require<FormatError>(!saved.empty(), folder.checkpoints().string(),
                       "holds no complete checkpoint to resume from: start again in another folder");
  try {
    return load_state(model, ranks, checkpoints, saved.back());
  } catch (const FormatError& error) {
    if (saved.size() == 1) {
      throw;
    }
    throw FormatError(fmt::format("{}; without {} the run goes on from update {}", error.what(),
                                  checkpoints.weights(saved.back()).parent_path().string(), saved[saved.size() - 2]));
  }
}

struct LoadedModel {
  std::unique_ptr<ModelInTraining> model;
  TrainingState state;
};

LoadedModel loaded_model(Backend& backend, PlannedRun& plan, const ModelFolder& folder) {
  std::unique_ptr<ModelInTraining> model = allocate(backend, plan);
  TrainingState state = load_newest_state(*model, plan.ranks, folder);
  const Checkpoints checkpoints(folder.checkpoints());
  load_frozen(checkpoints.weights(state.update), backend, model->trainables);
  if (plan.adapts()) {
    load_base_of(folder, backend, model->trainables);
  }
  checkpoints.verify_weights(final_updates(plan.recipe.checkpoints, state.candidates));
  model->trainables.refresh(backend);
  // A run without interruption would not have validated there.
  std::erase_if(state.candidates, [](const Candidate& candidate) { return !candidate.on_schedule; });
  return {std::move(model), std::move(state)};
}

// Which text, tokenizers and weights: what the position and the weights' sum depend on.
void require_same_start(const PlannedRun& plan, const ModelInTraining& model, int64_t update) {
  if (!plan.ranks.all().is_alone()) {
    require_same_on_all_ranks(plan.ranks.all(),
                              {{"recipe", checksum_of(to_toml(plan.recipe))},
                               {"training text", fmt::format("{:016x}", plan.task->position().stream)},
                               {"update", std::to_string(update)}});
    require_same_weights(model, plan.ranks);
  }
}

std::optional<Documents> documents_of(const PlannedRun& plan) {
  const std::optional<Documents> own = plan.task->documents();
  if (own || !plan.from) {
    return own;
  }
  // A model that was trained on a stream has seen no ends of texts, but conversations have them.
  const std::optional<Documents> others = plan.from->documents();
  return others == Documents::none ? std::nullopt : others;
}

// A model that goes on from another of its kind reads the same prompts, and is decoded in the same way.
ModelDescription description_of(const PlannedRun& plan) {
  const ModelConfig& config = plan.recipe.model;
  const bool goes_on = plan.from && plan.from->config().architecture == config.architecture;
  return {.config = config,
          .tokenizers = {},
          .documents = documents_of(plan),
          .columns = plan.task->columns(),
          .marks = plan.marks,
          .prompts = goes_on ? plan.from->prompts() : TextPrompts{},
          .decoding = goes_on ? plan.from->decoding() : DecodingDefaults{}};
}

void save_chat_template(const PlannedRun& plan, const ModelFolder& folder) {
  if (plan.recipe.model.architecture == Architecture::causal_lm && plan.from) {
    copy_chat_template(plan.from->folder(), folder);
  }
  if (const ChatTemplate* const own = plan.task->chat_template()) {
    save_chat_template(*own, folder);
  }
}

// Collective, though the first rank alone writes: what a model in parts lacks there comes from the others.
std::optional<RunFiles> publish(const RunRequest& request, const PlannedRun& plan, ModelInTraining& model,
                                TrainingState& state) {
  CollectedState collected(model, plan.ranks, plan.ranks.divides_model() ? StateIs::with_owners : StateIs::everywhere);
  if (!plan.ranks.is_first()) {
    return std::nullopt;
  }
  const ModelFolder& folder = request.folder;
  MadeFolders made = make_folders(folder.path);
  auto lock = std::make_unique<FolderLock>(folder.path, kBusy);
  require_no_run(folder);
  remove_unfinished_files(folder.path);
  NewFolder entries(folder.path, std::move(made));
  save_description(folder, description_of(plan), plan.task->tokenizers());
  save_chat_template(plan, folder);
  MetricsLog metrics(folder.metrics(), 0);
  if (plan.from) {
    metrics.add(to_json(plan.taken));
  }
  if (plan.adapts()) {
    save_adapter_of(folder, plan.recipe.adapter, plan.recipe.training.from, *plan.from, plan.taken, model.weights());
  }
  metrics.sync();
  state.metrics_bytes = metrics.bytes();
  collected.write(Checkpoints(folder.checkpoints()), state);
  // Last, because its existence says that there is something to resume.
  write_file(folder.recipe(), to_toml(plan.recipe));
  entries.keep();
  return RunFiles{std::move(lock), std::move(metrics)};
}

std::string arithmetic_of_run(const RunRequest& request) {
  return arithmetic_of(request.backend, storage_of(request.recipe.training.precision));
}

StartedRun started(PlannedRun&& plan, std::unique_ptr<ModelInTraining> model, TrainingState&& state,
                   std::optional<RunFiles>&& files) {
  auto learner =
      std::make_unique<Learner>(plan.recipe, std::move(plan.ranks), std::move(model), std::move(plan.teacher));
  if (learner->is_local()) {
    learner->ranks().tolerate_losses();
  }
  return {std::move(plan.recipe), std::move(plan.task), std::move(learner), std::move(state), std::move(files)};
}

}  // namespace

StartedRun begin_run(const RunRequest& request) {
  PlannedRun plan = plan_new_run(request);
  std::unique_ptr<ModelInTraining> model = initialized_model(request.backend, plan);
  TrainingState state;
  state.position = plan.task->position();
  state.arithmetic = arithmetic_of_run(request);
  request.listener.on_start();
  require_same_start(plan, *model, state.update);
  std::optional<RunFiles> files = publish(request, plan, *model, state);
  return started(std::move(plan), std::move(model), std::move(state), std::move(files));
}

StartedRun resume_run(const RunRequest& request) {
  const ModelFolder& folder = request.folder;
  request.recipe.validate();
  require<ConfigError>(std::filesystem::exists(folder.recipe()), folder.path.string(),
                       "holds no run to resume: there is no recipe.toml");
  std::unique_ptr<FolderLock> lock;
  if (request.ranks.is_first()) {
    lock = std::make_unique<FolderLock>(folder.path, kBusy);
    remove_unfinished_files(folder.path);
  }
  PlannedRun plan = plan_resumed_run(request);
  auto [model, state] = loaded_model(request.backend, plan, folder);
  plan.task->seek(state.position);
  request.listener.on_start();
  require_same_start(plan, *model, state.update);
  std::optional<RunFiles> files;
  if (request.ranks.is_first()) {
    files = RunFiles{std::move(lock), MetricsLog(folder.metrics(), state.metrics_bytes)};
    write_file(folder.recipe(), to_toml(plan.recipe));
    request.listener.on_message(fmt::format("resuming after update {}", state.update));
    if (const std::string now = arithmetic_of_run(request); !state.arithmetic.empty() && state.arithmetic != now) {
      request.listener.on_message(fmt::format(
          "so far it was computed by {}, and now by {}: from here on it has other bits", state.arithmetic, now));
    }
  }
  state.arithmetic = arithmetic_of_run(request);
  return started(std::move(plan), std::move(model), std::move(state), std::move(files));
}

}  // namespace heed
