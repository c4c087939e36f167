#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/clock.h"
#include "base/memory.h"
#include "base/plural.h"
#include "checkpoint/adapter.h"
#include "checkpoint/weights.h"
#include "text/vocabulary.h"
#include "train/final_weights.h"
#include "train/prepared_corpus.h"
#include "train/rank_checks.h"
#include "train/run_folder.h"

namespace heed {
namespace {

// fmt writes the sign of nan, which says nothing.
double without_sign_of_nan(double value) { return std::isnan(value) ? std::abs(value) : value; }

constexpr std::string_view kLayout = "recipe: training.layout";
// Groups of ranks that are left, by how many there were before; other groups have smaller numbers.
constexpr int kGroupsOfMeetings = 64;
constexpr std::string_view kBusy = "another process trains in this folder: wait for it, or choose another folder";

}  // namespace

class Trainer::WeightsInPlace {
 public:
  explicit WeightsInPlace(Trainer& trainer) : trainer_(trainer) {
    if (trainer_.keeps_average()) {
      trainer_.backend_.copy(trainer_.trainables_->masters(), trainer_.set_aside_.view());
      put(trainer_.moving_average_.view());
    }
  }
  ~WeightsInPlace() {
    if (trainer_.keeps_average()) {
      put(trainer_.set_aside_.view());
    }
  }
  WeightsInPlace(const WeightsInPlace&) = delete;
  WeightsInPlace& operator=(const WeightsInPlace&) = delete;

 private:
  void put(View weights) {
    trainer_.backend_.copy(weights, trainer_.trainables_->masters());
    trainer_.trainables_->refresh(trainer_.backend_);
  }

  Trainer& trainer_;
};

class Trainer::Meter {
 public:
  explicit Meter(Trainer& trainer)
      : trainer_(trainer), began_(seconds_now()), waited_(ranks().seconds_waited()), sent_(ranks().bytes_sent()) {}
  ~Meter() {
    Totals& totals = trainer_.since_report_;
    totals.seconds += seconds_now() - began_;
    totals.waited += ranks().seconds_waited() - waited_;
    totals.sent_bytes += ranks().bytes_sent() - sent_;
  }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

 private:
  const Ranks& ranks() const { return trainer_.ranks_; }

  Trainer& trainer_;
  double began_, waited_;
  int64_t sent_;
};

void Trainer::Totals::add(const ShardLoss& shard) {
  loss += shard.loss;
  negative_log_likelihood += shard.negative_log_likelihood;
  kl_divergence += shard.kl_divergence;
}

Trainer::Trainer(Backend& backend, const Recipe& recipe, const ModelFolder& folder, TrainStart start,
                 TrainListener& listener, const Ranks& ranks)
    : backend_(backend),
      recipe_(recipe),
      folder_(folder),
      listener_(listener),
      checkpoints_(folder.checkpoints()),
      storage_(storage_of(recipe.training.precision)),
      ranks_(ranks),
      layout_(layout_for(parse_layout(recipe.training.layout, kLayout), ranks.count(), kLayout)),
      copies_(layout_.divides_model() ? group(RankGroup::data) : ranks_),
      holders_(layout_.tensor == 1 ? ranks_ : group(RankGroup::part)),
      weights_(layout_.tensor == 1 ? Parts() : Parts(group(RankGroup::tensor))) {
  recipe_.validate();
  require_layout();
  require_enough_shards();
  if (start == TrainStart::resume) {
    resume();
  } else {
    begin();
  }
}

void Trainer::require_layout() const {
  if (layout_.tensor > 1) {
    const auto refuse = [&](bool condition, std::string_view what) {
      require<ConfigError>(!condition, kLayout, "{} divides matrices, which does not go with {}", show_layout(layout_),
                           what);
    };
    refuse(recipe_.optimizer.kind == OptimizerKind::muon, "optimizer.kind = \"muon\": it needs whole matrices");
    refuse(adapts(), "an adapter");
    refuse(!recipe_.training.from.empty(), "training.from");
    refuse(!recipe_.training.freeze.empty(), "training.freeze");
  }
  require<ConfigError>(!layout_.divides_model() || recipe_.training.local_updates == 0, kLayout,
                       "{} divides the model, but with training.local_updates each rank has a whole one",
                       show_layout(layout_));
}

Ranks Trainer::group(RankGroup kind) const {
  return ranks_.group(members_of(layout_, kind, ranks_.rank()), static_cast<int>(kind));
}

Stage Trainer::own_stage() const { return {place_of(layout_, ranks_.rank()).pipeline, layout_.pipeline}; }

void Trainer::require_enough_shards() const {
  const int64_t shards = std::max(recipe_.training.shards, recipe_.training.accumulate);
  require<ConfigError>(
      layout_.data <= shards, "recipe",
      "an update has {} shard{}, which is too few for {} ranks: set training.shards to a multiple of {}", shards,
      plural(shards), layout_.data, std::lcm(recipe_.training.accumulate, layout_.data));
}

void Trainer::begin() {
  // Before time is spent on reading the text.
  if (ranks_.is_first()) {
    require_no_run(folder_);
    require_writable(folder_.path);
  }
  std::optional<StartingModel> from;
  Tokenizers tokenizers;
  if (!recipe_.training.from.empty()) {
    from.emplace(ModelFolder{recipe_.training.from});
    tokenizers = starting_tokenizers(*from);
  }
  make_task(tokenizers.empty() ? nullptr : &tokenizers);
  build_model();
  TakenWeights taken;
  if (from) {
    taken = from->match(weights_, recipe_.model, task_->tokenizers());
    listener_.on_message(taken.text());
  }
  make_trainables(parts_on(taken));
  trainables_->initialize(backend_, static_cast<uint64_t>(recipe_.training.seed));
  if (from) {
    from->copy(taken, backend_, *trainables_);
  }
  if (keeps_average()) {
    backend_.copy(trainables_->masters(), moving_average_.view());
  }
  listener_.on_start();
  if (layout_.divides_model()) {
    collect_state();  // the first rank drew its own share of the weights alone
  }
  if (!ranks_.is_first()) {
    return;
  }
  const bool made = make_folder(folder_.path);
  lock_.emplace(folder_.path, kBusy);
  require_no_run(folder_);
  remove_unfinished_files(folder_.path);
  NewEntries entries(folder_.path, made);
  save_description(folder_, recipe_.model, task_->tokenizers(), task_->documents());
  metrics_.emplace(folder_.metrics(), 0);
  if (from) {
    metrics_->add(to_json(taken));
  }
  if (adapts()) {
    save_adapter_description(*from, taken);
  }
  write_checkpoint();
  // Last, because its existence says that there is something to resume.
  write_file(folder_.recipe(), show_recipe(recipe_));
  entries.keep();
}

// None where the recipe has its own.
Tokenizers Trainer::starting_tokenizers(const StartingModel& model) const {
  if (!takes_tokenizers(recipe_)) {
    return {};
  }
  Tokenizers tokenizers = model.tokenizers_for(recipe_.model.architecture);
  require<ConfigError>(recipe_.model.tying != Tying::all || tokenizers.front() == tokenizers.back(), "recipe",
                       "model.tie is \"all\", which needs one tokenizer for both, but the model in {} has two",
                       recipe_.training.from);
  return tokenizers;
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
  make_trainables(resumed_parts());
  state_ = newest_state();
  load_frozen(checkpoints_.weights(state_.update), backend_, *trainables_);
  load_base();
  checkpoints_.verify_weights(final_updates(recipe_.checkpoints, state_.candidates));
  trainables_->refresh(backend_);
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
  write_file(folder_.recipe(), show_recipe(recipe_));
  listener_.on_message(fmt::format("resuming after update {}", state_.update));
}

// Also fills the tensors.
TrainingState Trainer::newest_state() {
  const std::vector<int64_t> saved = checkpoints_.resumable();
  require<FormatError>(!saved.empty(), folder_.checkpoints().string(),
                       "holds no complete checkpoint to resume from: start again in another folder");
  try {
    if (layout_.tensor == 1) {
      TrainingState state = checkpoints_.load(saved.back(), tensors());
      if (meetings_) {
        checkpoints_.load_optimizer(saved.back(), ranks_.rank(), optimizer_->state());
      }
      return state;
    }
    WholeState whole(backend_, recipe_.model, storage_, tensors());
    TrainingState state = checkpoints_.load(saved.back(), whole.tensors());
    whole.take_parts(*trainables_, tensors());
    return state;
  } catch (const FormatError& error) {
    if (saved.size() == 1) {
      throw;
    }
    throw FormatError(fmt::format("{}; without {} the run goes on from update {}", error.what(),
                                  checkpoints_.weights(saved.back()).parent_path().string(), saved[saved.size() - 2]));
  }
}

void Trainer::make_task(const Tokenizers* tokenizers) {
  require<ConfigError>(backend_.supports(storage_), "training.precision", "{} is not supported by the {} backend",
                       name_of(storage_), backend_.name());
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
  model_.emplace(Scope(weights_), recipe_.model, own_stage());
  if (adapts()) {
    add_adapters(weights_, recipe_.adapter);
  }
}

// With adapters, what was taken as it is belongs to the base, and only the rest is trained.
std::vector<WeightPart> Trainer::parts_on(const TakenWeights& taken) const {
  std::vector<WeightPart> parts;
  for (const Weight& weight : weights_.all()) {
    const bool of_base = adapts() && std::ranges::count(taken.whole, weight.name()) > 0;
    parts.push_back(of_base ? WeightPart::of_base : WeightPart::trained);
  }
  return parts;
}

std::vector<WeightPart> Trainer::resumed_parts() const {
  TakenWeights taken;
  if (adapts()) {
    const AdapterDescription description = load_adapter(folder_);
    for (const Weight& weight : weights_.all()) {
      if (!is_adapter(weight) && std::ranges::count(description.whole, weight.name()) == 0) {
        taken.whole.push_back(weight.name());
      }
    }
  }
  return parts_on(taken);
}

// An adapter is of no use without its base, so the base has to be there when its run goes on, and is still the same.
void Trainer::load_base() {
  if (!adapts()) {
    return;
  }
  const SafeTensors base = open_base(folder_, load_adapter(folder_));
  for (size_t i = 0; i < weights_.all().size(); ++i) {
    const Weight& weight = weights_.all()[i];
    if (trainables_->part_of(i) == WeightPart::of_base) {
      std::vector<float> values = read_weight(base, base.at(weight.name()));
      const int64_t columns = weight.shape().columns();
      ensure(static_cast<int64_t>(values.size()) == weight.shape().elements(), "trainer", "the base has another {}",
             weight.name());
      trainables_->hold_base(backend_, i, View(values.data(), DType::f32, weight.shape().rows(), columns, columns));
    }
  }
}

void Trainer::save_adapter_description(const StartingModel& base, const TakenWeights& taken) const {
  AdapterDescription description{
      .base = std::filesystem::relative(recipe_.training.from, folder_.path),
      .checksum = checksum_of_weights(base.weights()),
      .rank = recipe_.adapter.rank,
      .alpha = recipe_.adapter.alpha,
      .matrices = {},
      .whole = {},
  };
  for (const Weight& weight : weights_.all()) {
    if (weight.low_rank() != nullptr) {
      description.matrices.push_back(weight.name());
    }
    if (!is_adapter(weight) && std::ranges::count(taken.whole, weight.name()) == 0) {
      description.whole.push_back(weight.name());
    }
  }
  save_adapter(folder_, description);
}

void Trainer::make_trainables(std::vector<WeightPart> parts) {
  const std::vector<bool> frozen = matching_weights(weights_, recipe_.training.freeze, "training.freeze");
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i] = frozen[i] && parts[i] == WeightPart::trained ? WeightPart::frozen : parts[i];
  }
  require<ConfigError>(std::ranges::count(parts, WeightPart::trained) > 0, "recipe",
                       "training.freeze leaves no weight to train");
  std::vector<bool> held;
  held.reserve(weights_.all().size());
  for (const Weight& weight : weights_.all()) {
    held.push_back(model_->plan().stage_of(weight.name()) == own_stage().index);
  }
  trainables_.emplace(backend_, weights_, storage_, Trainables::Gradients::wanted, std::move(parts), std::move(held));
  optimizer_.emplace(backend_, *trainables_, recipe_.optimizer, divide_pieces());
  const DType gradients = storage_of(recipe_.training.gradients);
  if (recipe_.training.local_updates > 0) {
    meetings_.emplace(backend_, *trainables_, recipe_.training.outer, gradients);
  } else if (!holders_.is_alone() || gradients != DType::f32) {
    exchange_.emplace(holders_, backend_, *trainables_, optimizer_->owners(), gradients);
  }
  if (layout_.pipeline > 1) {
    if (!copies_.is_alone()) {
      stage_exchange_.emplace(holders_, holders_of_stage(own_stage().index), backend_, *trainables_,
                              optimizer_->owners(), gradients);
    }
    stage_gradients_.emplace(backend_, *trainables_, *model_, gradients, stage_exchange_ ? &*stage_exchange_ : nullptr);
    pipeline_.emplace(group(RankGroup::pipeline), backend_, storage_, *model_);
  }
  if (keeps_average()) {
    moving_average_ = Tensor({trainables_->masters().elements()}, backend_.master_type());
    set_aside_ = Tensor({trainables_->masters().elements()}, backend_.master_type());
  }
}

// Among the holders.
std::vector<int> Trainer::holders_of_stage(int stage) const {
  std::vector<int> copies;
  for (int rank = stage; rank < holders_.count(); rank += layout_.pipeline) {
    copies.push_back(rank);
  }
  return copies;
}

// Among the copies that hold a weight.
PieceOwners Trainer::divide_pieces() const {
  if (recipe_.training.local_updates > 0) {
    return PieceOwners(*trainables_);
  }
  PieceOwners::Holders holders;
  holders.reserve(weights_.all().size());
  for (const Weight& weight : weights_.all()) {
    holders.push_back(holders_of_stage(model_->plan().stage_of(weight.name())));
  }
  return Optimizer::divide(*trainables_, recipe_.optimizer, holders_.count(), holders_.rank(), holders);
}

EndReason Trainer::run() {
  compare_ranks();
  state_is_collected_ = true;  // each rank read or drew all of it
  release_state();
  if (meetings_) {
    meetings_->begin();
    ranks_.tolerate_losses();
  }
  advanced_from_ = state_.update - 1;
  started_ = seconds_now() - state_.seconds;
  record(to_json(TrainingStart{.update = state_.update,
                               .parameters = parameters(),
                               .trained_parameters = trained_parameters(),
                               .precision = name_of(storage_),
                               .threads = backend_.threads(),
                               .task = recipe_.training.task,
                               .sizes = task_->sizes()}));
  std::optional<EndReason> end;
  while (!(end = agreed_reason_to_end())) {
    advance();
    if (is_due(recipe_.training.log_every)) {
      report_progress();
    }
    if (validation_is_due()) {
      validate_and_save();
    } else if (recipe_.checkpoints.every > 0 && is_due(recipe_.checkpoints.every)) {
      save();
    }
  }
  if (*end == EndReason::stopped) {
    save();
  } else if (validated_at_ != state_.update) {
    validate_and_save();
  }
  // What is left to do needs none of it, but memory of its own.
  pipeline_.reset();
  stage_gradients_.reset();
  stage_exchange_.reset();
  exchange_.reset();
  meetings_.reset();
  optimizer_.reset();
  trainables_->discard_gradients();
  if (ranks_.is_first()) {
    write_final_weights();
  }
  record(to_json(TrainingEnd{state_.update, *end, seconds()}));
  return *end;
}

// Which text, tokenizers and weights: what the position and the weights' sum depend on.
void Trainer::compare_ranks() const {
  if (!ranks_.is_alone()) {
    require_same_on_all_ranks(ranks_, {{"recipe", checksum_of(show_recipe(recipe_))},
                                       {"training text", fmt::format("{:016x}", state_.position.stream)},
                                       {"update", std::to_string(state_.update)},
                                       {"model", layout_.divides_model() ? "" : checksum_of_values(*trainables_)}});
  }
  if (layout_.divides_model()) {
    require_same_on_all_ranks(copies_, {{"part of the model", checksum_of_values(*trainables_)}});
  }
}

void Trainer::record(const std::string& event) {
  if (ranks_.is_first()) {
    metrics_->add(event);
  }
}

// The first rank decides for all: time, and what the user asks for, are its own.
std::optional<EndReason> Trainer::agreed_reason_to_end() {
  int8_t decision = -1;
  if (ranks_.is_first()) {
    const std::optional<EndReason> reason = reason_to_end();
    decision = reason ? static_cast<int8_t>(*reason) : decision;
  }
  ranks_.broadcast(std::as_writable_bytes(std::span(&decision, 1)));
  return decision < 0 ? std::nullopt : std::optional(static_cast<EndReason>(decision));
}

double Trainer::seconds() const { return seconds_now() - started_; }
double Trainer::epoch() const { return static_cast<double>(state_.examples) / static_cast<double>(task_->examples()); }

double Trainer::fraction() const {
  const TrainingRecipe& limits = recipe_.training;
  const auto share = [](double done, double limit) { return limit > 0.0 ? done / limit : 0.0; };
  return std::min(1.0, std::max({share(epoch(), static_cast<double>(limits.epochs)),
                                 share(static_cast<double>(state_.update), static_cast<double>(limits.updates)),
                                 share(seconds(), 60.0 * limits.minutes)}));
}

std::optional<EndReason> Trainer::reason_to_end() {
  const TrainingRecipe& limits = recipe_.training;
  if (listener_.wants_to_stop()) {
    return EndReason::stopped;
  }
  if (const std::optional<EndReason> reached = limit_reached()) {
    return reached;
  }
  if (limits.minutes > 0.0 && seconds() >= 60.0 * limits.minutes) {
    return EndReason::minutes;
  }
  const auto best = std::ranges::max_element(state_.candidates, {}, &Candidate::value);
  const int64_t since_best = best == state_.candidates.end() ? 0 : state_.candidates.end() - best - 1;
  if (recipe_.validation.patience > 0 && since_best >= recipe_.validation.patience) {
    return EndReason::patience;
  }
  return std::nullopt;
}

// Limits that each rank knows without asking another.
std::optional<EndReason> Trainer::limit_reached() const {
  const TrainingRecipe& limits = recipe_.training;
  if (limits.epochs > 0 && state_.examples >= limits.epochs * task_->examples()) {
    return EndReason::epochs;
  }
  if (limits.updates > 0 && state_.update >= limits.updates) {
    return EndReason::updates;
  }
  return std::nullopt;
}

// To the next update after which all ranks have the same weights.
void Trainer::advance() {
  const Meter meter(*this);
  advanced_from_ = state_.update;
  do {
    update();
  } while (meetings_ && state_.update % recipe_.training.local_updates != 0 && !limit_reached());
  if (meetings_) {
    meet();
  }
  if (keeps_average()) {
    update_moving_average();
  }
}

// Ranks that were lost since the last meeting are left out of all that follows.
void Trainer::meet() {
  const int before = ranks_.count();
  ranks_ = ranks_.remaining(kGroupsOfMeetings + before);
  copies_ = ranks_;
  if (ranks_.is_first() && ranks_.count() < before) {
    listener_.on_message(fmt::format("update {}: {} of {} ranks do not answer; the run goes on with {}", state_.update,
                                     before - ranks_.count(), before, ranks_.count()));
  }
  meetings_->meet(ranks_);
}

// All; or, where ranks train on their own, this one's.
std::vector<size_t> Trainer::own_shards(const Update& update) const {
  std::vector<size_t> own;
  const auto first = static_cast<size_t>(meetings_ ? ranks_.rank() : 0);
  const auto step = static_cast<size_t>(meetings_ ? ranks_.count() : 1);
  for (size_t shard = first; shard < update.shards.size(); shard += step) {
    own.push_back(shard);
  }
  return own;
}

int64_t Trainer::targets_of(const Update& update) const {
  int64_t targets = 0;
  for (const size_t shard : own_shards(update)) {
    targets += update.shards[shard]->targets();
  }
  return targets;
}

// One optimizer step: the gradient of the mean loss over all targets of the update's shards.
void Trainer::update() {
  const Update update = task_->next_update(state_.update);
  const int64_t targets = targets_of(update);
  if (meetings_ && targets == 0) {
    return finish_update(update);  // nothing in it for this rank
  }
  const Totals found = differentiate(update, targets);
  if (!std::isfinite(found.loss)) {
    fail_for_nonfinite(fmt::format("the loss is {}", without_sign_of_nan(found.loss / static_cast<double>(targets))),
                       update);
  }
  const double rate = learning_rate(recipe_.schedule, state_.update + 1);
  if (exchange_) {
    optimizer_->measure(backend_);
    exchange_->share_norms(optimizer_->squared_norms());
    optimizer_->step(backend_, rate);
    if (stage_exchange_) {
      stage_exchange_->share_weights();
    } else if (!pipeline_) {
      exchange_->share_weights();
    }
  } else {
    optimizer_->update(backend_, rate);
  }
  if (!std::isfinite(optimizer_->gradient_norm())) {
    fail_for_nonfinite(fmt::format("the gradients' norm is {}", without_sign_of_nan(optimizer_->gradient_norm())),
                       update);
  }
  since_report_.add(found);
  since_report_.targets += targets;
  finish_update(update);
}

void Trainer::finish_update(const Update& update) {
  ++state_.update;
  state_.examples += static_cast<int64_t>(update.examples.size());
  state_.position = task_->position();
}

// Sums over the targets of all shards, in their order; the gradient is of their mean.
Trainer::Totals Trainer::differentiate(const Update& update, int64_t targets) {
  ShardLosses losses;
  if (pipeline_) {
    losses = differentiate_in_stages(update, targets);
  } else if (exchange_) {
    losses = differentiate_in_rounds(update, targets);
  } else {
    for (const size_t shard : own_shards(update)) {
      if (!losses.empty()) {
        trainables_->begin_shard(backend_);
      }
      losses.push_back(differentiate_shard(update, shard, targets));
    }
  }
  Totals totals;
  for (const ShardLoss& loss : losses) {
    totals.add(loss);
  }
  return totals;
}

RandomKey Trainer::dropout_key() const {
  return RandomKey{static_cast<uint64_t>(recipe_.training.seed)}.derive("dropout").derive(
      static_cast<uint64_t>(state_.update));
}

// This copy's shards, one in each round. The last stage has the losses.
Trainer::ShardLosses Trainer::differentiate_in_stages(const Update& update, int64_t targets) {
  const auto copies = static_cast<size_t>(copies_.count());
  const size_t rounds = (update.shards.size() + copies - 1) / copies;
  std::vector<const Shard*> shards(rounds);
  for (size_t i = static_cast<size_t>(copies_.rank()); i < update.shards.size(); i += copies) {
    shards[i / copies] = update.shards[i].get();
  }
  if (stage_exchange_) {
    stage_exchange_->begin_update(std::ssize(update.shards));
  }
  const ShardPass pass{.loss_scale = 1.0 / static_cast<double>(targets),
                       .key = dropout_key(),
                       .smoothing = Smoothing(static_cast<float>(recipe_.training.smoothing))};
  ShardLosses found;
  for (const TokenLosses& losses : pipeline_->differentiate(shards, pass, *stage_gradients_)) {
    found.push_back({losses.total_smoothed(), losses.total_negative_log_likelihood(), losses.total_divergence()});
  }
  found.resize(rounds);
  ShardLosses all(rounds * static_cast<size_t>(ranks_.count()));
  ranks_.all_gather(std::as_bytes(std::span(found)), std::as_writable_bytes(std::span(all)));
  ShardLosses in_order;
  in_order.reserve(update.shards.size());
  for (size_t i = 0; i < update.shards.size(); ++i) {
    const int last = rank_at(layout_, {.data = static_cast<int>(i % copies), .pipeline = layout_.pipeline - 1});
    in_order.push_back(all[static_cast<size_t>(last) * rounds + i / copies]);
  }
  return in_order;
}

Trainer::ShardLoss Trainer::differentiate_shard(const Update& update, size_t shard, int64_t targets) {
  Tape tape(1.0 / static_cast<double>(targets));
  Pass pass = Pass::train(backend_, storage_, tape, dropout_key());  // draws are numbered by rows across all shards
  const TokenLosses losses =
      update.shards[shard]->loss(pass, *model_, Smoothing(static_cast<float>(recipe_.training.smoothing)));
  if (exchange_) {
    tape.backward(backend_, [&] { exchange_->advance(); });
  } else {
    tape.backward(backend_);
  }
  return {losses.total_smoothed(), losses.total_negative_log_likelihood(), losses.total_divergence()};
}

Trainer::ShardLosses Trainer::differentiate_in_rounds(const Update& update, int64_t targets) {
  const auto ranks = static_cast<size_t>(copies_.count()), own = static_cast<size_t>(copies_.rank());
  const size_t shards = update.shards.size(), rounds = (shards + ranks - 1) / ranks;
  exchange_->begin_update();
  ShardLosses found(rounds);
  for (size_t round = 0; round < rounds; ++round) {
    const size_t begin = round * ranks;
    exchange_->begin_round(static_cast<int64_t>(std::min(ranks, shards - begin)));
    if (begin + own < shards) {
      found[round] = differentiate_shard(update, begin + own, targets);
    }
    exchange_->end_round();
  }
  exchange_->finish_update();
  ShardLosses all(rounds * ranks);
  copies_.all_gather(std::as_bytes(std::span(found)), std::as_writable_bytes(std::span(all)));
  ShardLosses in_order;
  in_order.reserve(shards);
  for (size_t i = 0; i < shards; ++i) {
    in_order.push_back(all[i % ranks * rounds + i / ranks]);
  }
  return in_order;
}

// Young averages decay faster, so that they do not retain the initialization.
void Trainer::update_moving_average() {
  const double n = static_cast<double>(state_.update);
  const double decay = std::pow(std::min(recipe_.checkpoints.moving_average, (1.0 + n) / (10.0 + n)),
                                static_cast<double>(state_.update - advanced_from_));
  if (optimizer_->owners().owns_all()) {
    return backend_.blend(trainables_->masters(), moving_average_.view(), 1.0 - decay);
  }
  for (size_t i = 0; i < optimizer_->owners().pieces().size(); ++i) {
    const auto& [weight, first, count] = optimizer_->owners().pieces()[i];
    if (optimizer_->owners().is_own(i)) {
      backend_.blend(trainables_->masters().column_range(first, count),
                     moving_average_.view().column_range(first, count), 1.0 - decay);
    }
  }
}

// The weights are still those from before the update, and the state still refers to its batch. A rank that trains on its
// own has nothing to save: what the others have is not here.
void Trainer::fail_for_nonfinite(const std::string& what, const Update& update) {
  if (!meetings_) {
    save();
  }
  const std::filesystem::path list = folder_.path / "failed-batch.txt";
  write_file(list, task_->list_origins(update));
  fail<NumericError>(fmt::format("update {}", state_.update + 1),
                     "{}; its text is {} (all are in {}); the {} it is in {}. A run in another folder with "
                     "a lower schedule.peak or optimizer.clip, or without these lines, may get further",
                     what, task_->describe_origins(update), list.string(),
                     meetings_ ? "last meeting saved before" : "state before",
                     checkpoints_.weights(std::max<int64_t>(0, saved_at_)).parent_path().string());
}

void Trainer::report_progress() {
  if (meetings_) {
    sum_over_ranks(since_report_);
  }
  const auto targets = static_cast<double>(since_report_.targets);
  const TrainStatus status{
      .update = state_.update,
      .epoch = epoch(),
      .loss = since_report_.loss / targets,
      .negative_log_likelihood = since_report_.negative_log_likelihood / targets,
      .kl_divergence = since_report_.kl_divergence / targets,
      .learning_rate = learning_rate(recipe_.schedule, state_.update),
      .gradient_norm = optimizer_->gradient_norm(),
      .target_tokens_per_second = targets / since_report_.seconds,
      .seconds = seconds(),
      .fraction = fraction(),
      .peak_memory_bytes = peak_memory_bytes(),
      .ranks = rank_statuses(),
  };
  since_report_ = {};
  record(to_json(status));
  listener_.on_status(status);
}

// What is summed over targets. Time and messages stay this rank's.
void Trainer::sum_over_ranks(Totals& totals) const {
  std::vector<Totals> all(static_cast<size_t>(ranks_.count()));
  ranks_.all_gather(std::as_bytes(std::span(&totals, 1)), std::as_writable_bytes(std::span(all)));
  static_cast<ShardLoss&>(totals) = {};
  totals.targets = 0;
  for (const Totals& each : all) {
    totals.add(each);
    totals.targets += each.targets;
  }
}

std::vector<RankStatus> Trainer::rank_statuses() {
  if (ranks_.is_alone()) {
    return {};
  }
  const RankStatus own{.seconds = since_report_.seconds,
                       .waited = since_report_.waited,
                       .sent_bytes = since_report_.sent_bytes,
                       .peak_memory_bytes = peak_memory_bytes()};
  std::vector<RankStatus> all(static_cast<size_t>(ranks_.count()));
  ranks_.all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

// Whether advance() came to a multiple, or passed one.
bool Trainer::is_due(int64_t every) const { return state_.update / every > advanced_from_ / every; }

bool Trainer::validation_is_due() const {
  if (recipe_.validation.every > 0) {
    return is_due(recipe_.validation.every);
  }
  return state_.examples / task_->examples() > epochs_at_validation_;  // the update completed an epoch
}

void Trainer::validate_and_save() {
  const bool on_schedule = validation_is_due();
  validated_at_ = state_.update;
  epochs_at_validation_ = state_.examples / task_->examples();
  if (!copies_.is_alone()) {
    require_same_on_all_ranks(copies_, {{"model", checksum_of_values(*trainables_)}});
  }
  collect_state();
  if (task_->can_validate() && !ranks_.is_first()) {
    state_.candidates.push_back({state_.update, 0.0, on_schedule});  // so that all know how many there are
  } else if (task_->can_validate()) {
    const Scores scores = scores_of_validated_weights();
    require<NumericError>(std::isfinite(scores.loss), fmt::format("validation after update {}", state_.update),
                          "the loss is {}; what was saved before is in {}", without_sign_of_nan(scores.loss),
                          folder_.checkpoints().string());
    const bool best =
        std::ranges::all_of(state_.candidates, [&](const Candidate& c) { return c.value < scores.value; });
    state_.candidates.push_back({state_.update, scores.value, on_schedule});
    const ValidationStatus status{state_.update, scores, seconds(), best};
    record(to_json(status));
    listener_.on_validation(status);
  }
  save();
}

// If there is a moving average, it will be used in the end, so it is what is validated.
Scores Trainer::scores_of_validated_weights() {
  if (whole_) {
    return task_->validate({whole_->model(), backend_, storage_});
  }
  const WeightsInPlace average(*this);
  trainables_->lend_others(backend_);
  Scores scores = task_->validate({*model_, backend_, storage_});
  trainables_->take_others_back();
  return scores;
}

// With several ranks, what the others own comes to the first one.
void Trainer::collect_state() {
  if (pipeline_) {
    trainables_->discard_gradients();
    stage_gradients_->discard();
  }
  if (exchange_ && !holders_.is_alone() && !state_is_collected_) {
    exchange_->collect(trainables_->masters());
    exchange_->collect(optimizer_->state().first_moments);
    exchange_->collect(optimizer_->state().second_moments);
    if (keeps_average()) {
      exchange_->collect(moving_average_.view());
    }
  }
  if (layout_.tensor > 1 && !state_is_collected_) {
    collect_whole();
  }
  state_is_collected_ = true;
}

// The ranks of the first copy bring their parts together on the first rank.
void Trainer::collect_whole() {
  if (ranks_.is_first()) {
    whole_.emplace(backend_, recipe_.model, storage_, tensors());
  }
  if (holders_.is_first()) {
    WholeState::collect(*trainables_, tensors(), whole_ ? &*whole_ : nullptr);
  }
  if (whole_) {
    whole_->put_validated_weights(backend_);
  }
}

// Gives the memory of what others own back.
void Trainer::release_state() {
  if (ranks_.is_alone() || !state_is_collected_) {
    return;
  }
  for (size_t i = 0; i < optimizer_->owners().pieces().size(); ++i) {
    if (!optimizer_->owners().is_own(i)) {
      trainables_->discard_master(optimizer_->owners().pieces()[i]);
    }
  }
  optimizer_->discard_others();
  whole_.reset();
  if (keeps_average() && exchange_) {
    exchange_->discard_others(moving_average_);
    set_aside_.discard(0, set_aside_.elements());
  }
  state_is_collected_ = false;
}

void Trainer::save() {
  if (saved_at_ == state_.update && saved_candidates_ == state_.candidates.size()) {
    return;
  }
  collect_state();
  if (ranks_.is_first()) {
    write_checkpoint();
  } else if (meetings_) {
    send_optimizer(ranks_, optimizer_->state());
  }
  saved_at_ = state_.update;
  saved_candidates_ = state_.candidates.size();
  release_state();
}

void Trainer::write_checkpoint() {
  metrics_->sync();
  state_.seconds = started_ > 0.0 ? seconds() : 0.0;
  state_.metrics_bytes = metrics_->bytes();
  if (whole_) {
    checkpoints_.save(state_, whole_->tensors(), whole_->validated());
  } else {
    TrainingTensors all = tensors();
    const WeightsInPlace average(*this);
    if (keeps_average()) {
      all.masters = set_aside_.view();  // where they are meanwhile
    }
    checkpoints_.save(state_, all, *trainables_, other_optimizers());
  }
  const auto wanted = final_updates(recipe_.checkpoints, state_.candidates);
  checkpoints_.prune(recipe_.checkpoints.keep, {wanted.begin(), wanted.end()});
}

// None before the first meeting, when all are new.
OtherOptimizers Trainer::other_optimizers() const {
  if (!meetings_ || state_.update == 0) {
    return {};
  }
  const auto memory = std::make_shared<ReceivedOptimizer>(optimizer_->state());
  return {ranks_.count(), [this, memory](int rank) { return memory->receive(ranks_, rank); }};
}

TrainingTensors Trainer::tensors() const {
  return {trainables_->masters(), optimizer_->state(), keeps_average() ? moving_average_.view() : View(),
          meetings_ ? meetings_->momentum() : View()};
}

void Trainer::write_final_weights() {
  // A run that was resumed with another choice may lack checkpoints of the new one.
  std::vector<Candidate> there = state_.candidates;
  std::erase_if(there, [&](const Candidate& c) { return !std::filesystem::exists(checkpoints_.weights(c.update)); });
  std::vector<int64_t> updates = final_updates(recipe_.checkpoints, there);
  if (updates.empty()) {
    updates = {state_.update};
  }
  std::vector<WeightPart> parts;
  for (size_t i = 0; i < weights_.all().size(); ++i) {
    parts.push_back(trainables_->part_of(i));
  }
  write_average(backend_, {recipe_.model, recipe_.adapter, std::move(parts)}, checkpoints_, updates,
                adapts() ? folder_.adapter_weights() : folder_.weights());
}

}  // namespace heed
