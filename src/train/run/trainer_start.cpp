// How a run starts: from its recipe, or from what it saved.
#include "checkpoint/weights.h"
#include "train/corpus/prepared_corpus.h"
#include "train/learner/adapter_training.h"
#include "train/learner/final_weights.h"
#include "train/learner/planned_parts.h"
#include "train/run/run_folder.h"
#include "train/run/trainer.h"

namespace heed {
namespace {

constexpr std::string_view kBusy = "another process trains in this folder: wait for it, or choose another folder";

}  // namespace

Trainer::Trainer(Backend& backend, const Recipe& recipe, const ModelFolder& folder, TrainStart start,
                 TrainListener& listener, const Ranks& ranks)
    : backend_(backend),
      recipe_(recipe),
      folder_(folder),
      listener_(listener),
      checkpoints_(folder.checkpoints()),
      ranks_(recipe_, ranks) {
  start == TrainStart::resume ? recipe_.validate() : recipe_.validate_for_new_run();
  ranks_.require_possible(recipe_);
  if (start == TrainStart::resume) {
    resume();
  } else {
    begin();
  }
}

void Trainer::begin() {
  // Before time is spent on reading the text.
  if (ranks_.is_first()) {
    require_no_run(folder_);
    require_writable(folder_.path);
  }
  check_parts(recipe_);
  std::optional<StartingModel> from;
  Tokenizers tokenizers;
  if (!recipe_.training.from.empty()) {
    from.emplace(ModelFolder{recipe_.training.from});
    tokenizers = starting_tokenizers(recipe_, *from);
    if (!tokenizers.empty()) {
      listener_.on_message(
          fmt::format("tokenizer: that of {}, instead of what [tokenizer] says "
                      "(training.from_tokenizers)",
                      recipe_.training.from));
    }
  }
  make_task(tokenizers.empty() ? nullptr : &tokenizers);
  build_model();
  TakenWeights taken;
  if (from) {
    taken = from->match(learner_->weights(), recipe_.model, task_->tokenizers());
    listener_.on_message(taken.text("metrics.jsonl"));
  }
  std::vector<WeightPart> parts = parts_after(taken, learner_->weights(), recipe_.adapter);
  freeze_parts(recipe_, learner_->weights(), parts);
  if (const std::string text = frozen_at_random(taken, learner_->weights(), parts); from && !text.empty()) {
    listener_.on_message(text);
  }
  learner_->hold(std::move(parts));
  learner_->trainables().initialize(backend_, static_cast<uint64_t>(recipe_.training.seed));
  if (from) {
    from->copy(taken, backend_, learner_->trainables());
  }
  listener_.on_start();
  learner_->begin();
  if (!ranks_.is_first()) {
    return;
  }
  const Folder folder = make_folder(folder_.path);
  lock_.emplace(folder_.path, kBusy);
  require_no_run(folder_);
  remove_unfinished_files(folder_.path);
  NewEntries entries(folder_.path, folder);
  save_description(folder_, recipe_.model, task_->tokenizers(), task_->documents(), task_->columns());
  metrics_.emplace(folder_.metrics(), 0);
  if (from) {
    metrics_->add(to_json(taken));
  }
  if (adapts()) {
    save_adapter_of(folder_, recipe_.adapter, recipe_.training.from, *from, taken, learner_->weights());
  }
  write_checkpoint();
  // Last, because its existence says that there is something to resume.
  write_file(folder_.recipe(), to_toml(recipe_));
  entries.keep();
}

void Trainer::resume() {
  require<ConfigError>(std::filesystem::exists(folder_.recipe()), folder_.path.string(),
                       "holds no run to resume: there is no recipe.toml");
  if (ranks_.is_first()) {
    lock_.emplace(folder_.path, kBusy);
    remove_unfinished_files(folder_.path);
  }
  const Recipe before = recipe_of_run(folder_);
  require_same_run(folder_, before, recipe_);
  take_prepared_corpus(before, recipe_, listener_);
  const ModelDescription description = load_description(folder_);
  require_same_model(folder_, before, description);
  const Tokenizers tokenizers = load_tokenizers(folder_, description);
  make_task(&tokenizers);
  build_model();
  learner_->hold(parts_of_run(folder_, learner_->weights(), recipe_.adapter));
  state_ = newest_state();
  load_frozen(checkpoints_.weights(state_.update), backend_, learner_->trainables());
  if (adapts()) {
    load_base_of(folder_, backend_, learner_->trainables());
  }
  checkpoints_.verify_weights(final_updates(recipe_.checkpoints, state_.candidates));
  learner_->trainables().refresh(backend_);
  task_->seek(state_.position);
  // A run without interruption would not have validated there.
  std::erase_if(state_.candidates, [](const Candidate& candidate) { return !candidate.on_schedule; });
  saved_candidates_ = state_.candidates.size();
  saved_at_ = state_.update;
  validated_at_ = state_.candidates.empty() ? -1 : state_.candidates.back().update;
  epochs_at_validation_ = state_.examples / task_->examples();
  listener_.on_start();
  if (!ranks_.is_first()) {
    return;
  }
  metrics_.emplace(folder_.metrics(), state_.metrics_bytes);
  write_file(folder_.recipe(), to_toml(recipe_));
  listener_.on_message(fmt::format("resuming after update {}", state_.update));
}

// Also fills the tensors.
TrainingState Trainer::newest_state() {
  const std::vector<int64_t> saved = checkpoints_.resumable();
  require<FormatError>(!saved.empty(), folder_.checkpoints().string(),
                       "holds no complete checkpoint to resume from: start again in another folder");
  try {
    return learner_->load(checkpoints_, saved.back());
  } catch (const FormatError& error) {
    if (saved.size() == 1) {
      throw;
    }
    throw FormatError(fmt::format("{}; without {} the run goes on from update {}", error.what(),
                                  checkpoints_.weights(saved.back()).parent_path().string(), saved[saved.size() - 2]));
  }
}

void Trainer::make_task(const Tokenizers* tokenizers) {
  const DType storage = storage_of(recipe_.training.precision);
  require<ConfigError>(backend_.supports(storage), "training.precision", "{} is not supported by the {} backend",
                       name_of(storage), backend_.name());
  if (!ranks_.all().is_alone()) {
    listener_.on_message(fmt::format("layout of {} ranks: {}", ranks_.all().count(), ranks_.layout_text()));
  }
  TaskSetup setup{
      .tokenizers = tokenizers, .threads = backend_.threads(), .spill_folder = nearest_folder(folder_.path)};
  const std::unique_ptr<const PreparedCorpus> prepared = open_prepared_corpus(recipe_, setup);
  task_ = recipe_.task->make_task(recipe_, setup);
  listener_.on_message(fmt::format("training text{}: {}", prepared ? " (prepared)" : "", task_->describe_text()));
  state_.position = task_->position();
}

void Trainer::build_model() {
  const std::span<const TokenizerRole> roles = tokenizer_roles(recipe_.model.architecture);
  for (size_t i = 0; i < roles.size(); ++i) {
    recipe_.model.*roles[i].vocabulary = task_->tokenizers()[i]->vocabulary_size();
  }
  task_->complete(recipe_.model);
  recipe_.model.validate();
  learner_.emplace(backend_, recipe_, ranks_);
}

}  // namespace heed
