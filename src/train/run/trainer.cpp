#include "train/run/trainer.h"

#include <algorithm>
#include <cmath>

#include "base/system/clock.h"
#include "base/system/memory.h"
#include "checkpoint/weights.h"
#include "train/learner/final_weights.h"
#include "train/run/run_events.h"

namespace heed {
namespace {

// fmt writes the sign of nan, which says nothing.
double without_sign_of_nan(double value) { return std::isnan(value) ? std::abs(value) : value; }

}  // namespace

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
  const Ranks& ranks() const { return trainer_.ranks().all(); }

  Trainer& trainer_;
  double began_, waited_;
  int64_t sent_;
};

Trainer::Trainer(Backend& backend, const Recipe& recipe, const ModelFolder& folder, TrainStart start,
                 TrainListener& listener, const Ranks& ranks)
    : Trainer({backend, recipe, folder, listener, ranks}, start) {}

Trainer::Trainer(const RunRequest& request, TrainStart start)
    : Trainer(request, start == TrainStart::resume ? resume_run(request) : begin_run(request)) {}

Trainer::Trainer(const RunRequest& request, StartedRun run)
    : backend_(request.backend),
      listener_(request.listener),
      folder_(request.folder),
      checkpoints_(folder_.checkpoints()),
      recipe_(std::move(run.recipe)),
      task_(std::move(run.task)),
      learner_(std::move(run.learner)),
      state_(std::move(run.state)),
      files_(std::move(run.files)),
      parameters_(learner_->model().weights().elements()),
      trained_parameters_(learner_->model().trainables.trained_elements()),
      advanced_from_(state_.update - 1),
      saved_at_(state_.update),
      saved_candidates_(state_.candidates.size()),
      validated_at_(state_.candidates.empty() ? -1 : state_.candidates.back().update),
      epochs_at_validation_(state_.examples / task_->examples()),
      started_(seconds_now() - state_.seconds) {}

EndReason Trainer::run() {
  record(to_json(TrainingStart{.update = state_.update,
                               .parameters = parameters(),
                               .trained_parameters = trained_parameters(),
                               .precision = name_of(storage_of(recipe_.training.precision)),
                               .threads = backend_.threads(),
                               .layout = ranks().all().is_alone() ? "" : ranks().layout_text(),
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
  const std::vector<WeightTreatment> treatments = learner_->model().treatments();
  learner_.reset();  // what is left to do needs none of it, but memory of its own
  if (files_) {
    write_final_weights(treatments);
  }
  record(to_json(TrainingEnd{state_.update, *end, seconds()}));
  return *end;
}

void Trainer::record(const std::string& event) {
  if (files_) {
    files_->metrics.add(event);
  }
}

// The first rank decides for all: time, and what the user asks for, are its own.
std::optional<EndReason> Trainer::agreed_reason_to_end() {
  struct Decision {
    int64_t reason = -1;
    double share_of_time = 0.0;
  } decision;
  if (ranks().is_first()) {
    const std::optional<EndReason> reason = reason_to_end();
    decision.reason = reason ? static_cast<int64_t>(*reason) : decision.reason;
    // A validation that takes less time than the one before does not turn it back.
    const double share = recipe_.training.minutes > 0.0 ? std::min(1.0, seconds() / seconds_of_updates()) : 0.0;
    decision.share_of_time = std::max(share_of_time_, share);
  }
  ranks().all().broadcast(std::as_writable_bytes(std::span(&decision, 1)));
  share_of_time_ = decision.share_of_time;
  return decision.reason < 0 ? std::nullopt : std::optional(static_cast<EndReason>(decision.reason));
}

// Where rates follow the time, the last validation is part of the minutes.
double Trainer::seconds_of_updates() const {
  const double all = 60.0 * recipe_.training.minutes;
  return is_timed(recipe_.schedule.kind) ? std::max(0.5 * all, all - validation_seconds_) : all;
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
  if (limits.minutes > 0.0 && seconds() >= seconds_of_updates()) {
    return EndReason::minutes;
  }
  if (listener_.wants_to_pause(fraction())) {
    return EndReason::paused;
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
  } while (learner_->is_local() && state_.update % recipe_.training.local_updates != 0 && !limit_reached());
  if (learner_->is_local()) {
    synchronize();
  }
  learner_->average({.last = state_.update, .count = state_.update - advanced_from_});
}

void Trainer::synchronize() {
  const int lost = learner_->synchronize(), left = ranks().all().count();
  if (ranks().is_first() && lost > 0) {
    listener_.on_message(fmt::format("update {}: {} of {} ranks do not answer; the run goes on with {}", state_.update,
                                     lost, lost + left, left));
  }
}

// One optimizer step. A rank that trains on its own may have no targets in an update.
void Trainer::update() {
  const Update update = task_->next_update(state_.update);
  const LossSums found = learner_->accumulate_gradients(update, state_.update);
  if (!std::isfinite(found.loss)) {
    fail_for_nonfinite(
        fmt::format("the loss is {}", without_sign_of_nan(found.loss / static_cast<double>(found.targets))), update);
  }
  if (found.targets > 0) {
    learner_->step(learning_rate(recipe_.schedule, state_.update + 1, share_of_time_));
    if (!std::isfinite(learner_->gradient_norm())) {
      fail_for_nonfinite(fmt::format("the gradients' norm is {}", without_sign_of_nan(learner_->gradient_norm())),
                         update);
    }
  }
  since_report_.losses.add(found);
  ++state_.update;
  state_.examples += static_cast<int64_t>(update.examples.size());
  state_.position = task_->position();
}

// The weights are still those from before the update, and the state still refers to its batch. A rank that trains on
// its own has nothing to save: what the others have is not here.
void Trainer::fail_for_nonfinite(const std::string& what, const Update& update) {
  if (!learner_->is_local()) {
    save();
  }
  std::string rest;
  if (files_) {
    const std::filesystem::path list = folder_.path / "failed-batch.txt";
    write_file(list, task_->list_origins(update));
    rest = fmt::format(" (all are in {})", list.string());
  }
  fail<NumericError>(fmt::format("update {}", state_.update + 1),
                     "{}; its text is {}{}; the {} is in {}. A run in another folder with "
                     "a lower schedule.peak or optimizer.clip, or without these lines, may get further",
                     what, task_->describe_origins(update), rest,
                     learner_->is_local() ? "last state that all ranks shared" : "state before it",
                     checkpoints_.weights(saved_at_).parent_path().string());
}

void Trainer::report_progress() {
  const LossSums losses = losses_since_report();
  const auto targets = static_cast<double>(losses.targets);
  const TrainStatus status{
      .update = state_.update,
      .epoch = epoch(),
      .loss = losses.loss / targets,
      .negative_log_likelihood = losses.negative_log_likelihood / targets,
      .kl_divergence = losses.kl_divergence / targets,
      .learning_rate = learning_rate(recipe_.schedule, state_.update, share_of_time_),
      .gradient_norm = learner_->gradient_norm(),
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

// Ranks that train independently have losses of their own shards.
LossSums Trainer::losses_since_report() const {
  if (!learner_->is_local()) {
    return since_report_.losses;
  }
  LossSums sums;
  for (const LossSums& each : gathered(ranks().all(), {since_report_.losses})) {
    sums.add(each);
  }
  return sums;
}

std::vector<RankStatus> Trainer::rank_statuses() const {
  const Ranks& all_ranks = ranks().all();
  if (all_ranks.is_alone()) {
    return {};
  }
  const RankStatus own{.seconds = since_report_.seconds,
                       .waited = since_report_.waited,
                       .sent_bytes = since_report_.sent_bytes,
                       .peak_memory_bytes = peak_memory_bytes(),
                       .optimizer_bytes = learner_->model().optimizer.resident_bytes()};
  std::vector<RankStatus> all(static_cast<size_t>(all_ranks.count()));
  all_ranks.all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
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
  const double began = seconds();
  const bool on_schedule = validation_is_due();
  validated_at_ = state_.update;
  epochs_at_validation_ = state_.examples / task_->examples();
  require_same_weights(learner_->model(), ranks());
  CollectedState collected = learner_->collect();
  if (task_->can_validate()) {
    // The others' values don't matter, but all ranks know how many there are.
    state_.candidates.push_back({state_.update, ranks().is_first() ? validate(collected).value : 0.0, on_schedule});
  }
  save(collected);
  validation_seconds_ = seconds() - began;
}

Scores Trainer::validate(CollectedState& collected) {
  Scores scores = collected.validate(*task_);
  require<NumericError>(std::isfinite(scores.loss), fmt::format("validation after update {}", state_.update),
                        "the loss is {}; what was saved before is in {}", without_sign_of_nan(scores.loss),
                        folder_.checkpoints().string());
  const bool best = std::ranges::all_of(state_.candidates, [&](const Candidate& c) { return c.value < scores.value; });
  const ValidationStatus status{state_.update, scores, seconds(), best};
  record(to_json(status));
  listener_.on_validation(status);
  return scores;
}

void Trainer::save() {
  if (!is_saved()) {
    CollectedState collected = learner_->collect();
    save(collected);
  }
}

void Trainer::save(CollectedState& collected) {
  if (is_saved()) {
    return;
  }
  if (files_) {
    write_checkpoint(collected);
  } else {
    collected.send_own();
  }
  saved_at_ = state_.update;
  saved_candidates_ = state_.candidates.size();
}

void Trainer::write_checkpoint(CollectedState& collected) {
  files_->metrics.sync();
  state_.seconds = seconds();
  state_.metrics_bytes = files_->metrics.bytes();
  collected.write(checkpoints_, state_);
  const auto wanted = final_updates(recipe_.checkpoints, state_.candidates);
  checkpoints_.prune(recipe_.checkpoints.keep, {wanted.begin(), wanted.end()});
}

void Trainer::write_final_weights(const std::vector<WeightTreatment>& treatments) {
  // A run that was resumed with another choice may lack checkpoints of the new one.
  std::vector<Candidate> there = state_.candidates;
  std::erase_if(there, [&](const Candidate& c) { return !std::filesystem::exists(checkpoints_.weights(c.update)); });
  std::vector<int64_t> updates = final_updates(recipe_.checkpoints, there);
  if (updates.empty()) {
    updates = {state_.update};
  }
  write_average(backend_, {recipe_.model, recipe_.adapter, treatments}, checkpoints_, updates,
                recipe_.adapter.rank > 0 ? folder_.adapter_weights() : folder_.weights());
}

}  // namespace heed
