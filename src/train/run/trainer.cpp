#include "train/run/trainer.h"

#include <algorithm>
#include <cmath>

#include "base/system/clock.h"
#include "base/system/memory.h"
#include "checkpoint/weights.h"
#include "parallel/rank_checks.h"
#include "text/vocabulary/vocabulary.h"
#include "train/learner/final_weights.h"

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
  const Ranks& ranks() const { return trainer_.ranks_.all(); }

  Trainer& trainer_;
  double began_, waited_;
  int64_t sent_;
};

EndReason Trainer::run() {
  compare_ranks();
  learner_->begin_run();
  advanced_from_ = state_.update - 1;
  started_ = seconds_now() - state_.seconds;
  record(to_json(TrainingStart{.update = state_.update,
                               .parameters = parameters(),
                               .trained_parameters = trained_parameters(),
                               .precision = name_of(storage_of(recipe_.training.precision)),
                               .threads = backend_.threads(),
                               .layout = ranks_.all().is_alone() ? "" : ranks_.layout_text(),
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
  learner_->end_run();
  if (ranks_.is_first()) {
    write_final_weights();
  }
  record(to_json(TrainingEnd{state_.update, *end, seconds()}));
  return *end;
}

// Which text, tokenizers and weights: what the position and the weights' sum depend on.
void Trainer::compare_ranks() const {
  const Ranks& all = ranks_.all();
  if (all.is_alone()) {
    return;
  }
  require_same_on_all_ranks(all, {{"recipe", checksum_of(to_toml(recipe_))},
                                  {"training text", fmt::format("{:016x}", state_.position.stream)},
                                  {"update", std::to_string(state_.update)}});
  if (ranks_.divides_model()) {
    learner_->compare_weights(ranks_.copies(), "part of the model");
  } else {
    learner_->compare_weights(all, "model");
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
  ranks_.all().broadcast(std::as_writable_bytes(std::span(&decision, 1)));
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
  } while (learner_->is_local() && state_.update % recipe_.training.local_updates != 0 && !limit_reached());
  if (learner_->is_local()) {
    synchronize();
  }
  learner_->average({.last = state_.update, .count = state_.update - advanced_from_});
}

// Ranks that were lost since the last outer step are left out of all that follows.
void Trainer::synchronize() {
  const int lost = ranks_.leave_out_lost(), left = ranks_.all().count();
  if (ranks_.is_first() && lost > 0) {
    listener_.on_message(fmt::format("update {}: {} of {} ranks do not answer; the run goes on with {}", state_.update,
                                     lost, lost + left, left));
  }
  learner_->synchronize();
}

// One optimizer step. A rank that trains on its own may have no targets in an update.
void Trainer::update() {
  const Update update = task_->next_update(state_.update);
  const LossSums found = learner_->differentiate(update, state_.update);
  if (!std::isfinite(found.loss)) {
    fail_for_nonfinite(
        fmt::format("the loss is {}", without_sign_of_nan(found.loss / static_cast<double>(found.targets))), update);
  }
  if (found.targets > 0) {
    learner_->step(learning_rate(recipe_.schedule, state_.update + 1));
    if (!std::isfinite(learner_->gradient_norm())) {
      fail_for_nonfinite(fmt::format("the gradients' norm is {}", without_sign_of_nan(learner_->gradient_norm())),
                         update);
    }
  }
  since_report_.add(found);
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
  if (ranks_.is_first()) {
    const std::filesystem::path list = folder_.path / "failed-batch.txt";
    write_file(list, task_->list_origins(update));
    rest = fmt::format(" (all are in {})", list.string());
  }
  fail<NumericError>(fmt::format("update {}", state_.update + 1),
                     "{}; its text is {}{}; the {} is in {}. A run in another folder with "
                     "a lower schedule.peak or optimizer.clip, or without these lines, may get further",
                     what, task_->describe_origins(update), rest,
                     learner_->is_local() ? "last state that all ranks shared" : "state before it",
                     checkpoints_.weights(std::max<int64_t>(0, saved_at_)).parent_path().string());
}

void Trainer::report_progress() {
  if (learner_->is_local()) {
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

// Time and messages stay this rank's.
void Trainer::sum_over_ranks(LossSums& sums) const {
  std::vector<LossSums> all(static_cast<size_t>(ranks_.all().count()));
  ranks_.all().all_gather(std::as_bytes(std::span(&sums, 1)), std::as_writable_bytes(std::span(all)));
  sums = {};
  for (const LossSums& each : all) {
    sums.add(each);
  }
}

std::vector<RankStatus> Trainer::rank_statuses() const {
  const Ranks& ranks = ranks_.all();
  if (ranks.is_alone()) {
    return {};
  }
  const RankStatus own{.seconds = since_report_.seconds,
                       .waited = since_report_.waited,
                       .sent_bytes = since_report_.sent_bytes,
                       .peak_memory_bytes = peak_memory_bytes(),
                       .optimizer_bytes = learner_->optimizer_bytes()};
  std::vector<RankStatus> all(static_cast<size_t>(ranks.count()));
  ranks.all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
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
  learner_->compare_weights(ranks_.copies(), "model");
  learner_->collect();
  if (task_->can_validate() && !ranks_.is_first()) {
    state_.candidates.push_back({state_.update, 0.0, on_schedule});  // so that all know how many there are
  } else if (task_->can_validate()) {
    const Scores scores = learner_->validate(*task_);
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

void Trainer::save() {
  if (saved_at_ == state_.update && saved_candidates_ == state_.candidates.size()) {
    return;
  }
  learner_->collect();
  if (ranks_.is_first()) {
    write_checkpoint();
  } else {
    learner_->send_own_state();
  }
  saved_at_ = state_.update;
  saved_candidates_ = state_.candidates.size();
  learner_->release();
}

void Trainer::write_checkpoint() {
  metrics_->sync();
  state_.seconds = started_ > 0.0 ? seconds() : 0.0;
  state_.metrics_bytes = metrics_->bytes();
  learner_->write(checkpoints_, state_);
  const auto wanted = final_updates(recipe_.checkpoints, state_.candidates);
  checkpoints_.prune(recipe_.checkpoints.keep, {wanted.begin(), wanted.end()});
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
  for (size_t i = 0; i < learner_->weights().all().size(); ++i) {
    parts.push_back(learner_->trainables().part_of(i));
  }
  write_average(backend_, {recipe_.model, recipe_.adapter, std::move(parts)}, checkpoints_, updates,
                adapts() ? folder_.adapter_weights() : folder_.weights());
}

}  // namespace heed
