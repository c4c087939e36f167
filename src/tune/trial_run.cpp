#include "tune/trial_run.h"

#include <algorithm>

#include "base/errors.h"
#include "base/system/clock.h"
#include "train/run/trainer.h"

namespace heed {
namespace {

constexpr double kSecondsBetweenSaves = 5.0;

class LegListener final : public TrainListener {
 public:
  LegListener(Trial& trial, const LegRequest& request, int64_t update)
      : trial_(trial), request_(request), counted_(seconds_now()), update_(update), counted_update_(update) {}

  void on_message(const std::string&) override {}
  void on_start() override {}
  void on_status(const TrainStatus& status) override {
    request_.listener.on_status(status);
    if (seconds_now() - counted_ > kSecondsBetweenSaves) {
      count_time();
      request_.save();
    }
  }
  void on_validation(const ValidationStatus& status) override {
    trial_.validated = {.update = status.update,
                        .value = status.scores.value,
                        .loss = status.scores.loss,
                        .others = status.scores.others};
    count_updates(status.update);
    trial_.best = std::max(trial_.best, status.scores.value);
    count_time();
    request_.save();
  }
  // Asked before the first update and after each.
  bool wants_to_stop() override {
    count_updates(update_++);
    return request_.listener.wants_to_stop() || request_.is_over();
  }
  bool wants_to_pause(double fraction) override { return request_.share < 1.0 && fraction >= request_.share; }

  void count_time() {
    const double now = seconds_now();
    trial_.seconds += now - counted_;
    counted_ = now;
  }

 private:
  void count_updates(int64_t update) {
    trial_.updates += std::max<int64_t>(0, update - counted_update_);
    counted_update_ = std::max(counted_update_, update);
  }

  Trial& trial_;
  const LegRequest& request_;
  double counted_;  // seconds_now() up to which time is counted
  int64_t update_;  // the last one, as far as wants_to_stop() tells
  int64_t counted_update_;
};

struct LegStart {
  TrainStart how = TrainStart::fresh;
  int64_t update = 0;
};

// A run that was killed while it started has nothing to go on from.
LegStart start_of(const std::filesystem::path& folder) {
  const ModelFolder run{folder};
  const std::vector<int64_t> saved = Checkpoints(run.checkpoints()).resumable();
  if (std::filesystem::exists(run.recipe()) && !saved.empty()) {
    return {TrainStart::resume, saved.back()};
  }
  std::filesystem::remove_all(folder);
  return {};
}

bool keeps_last(FinalWeights weights) {
  return weights == FinalWeights::last || weights == FinalWeights::average_of_last ||
         weights == FinalWeights::moving_average;
}

double value_of(const Trial& trial, const LegRequest& request) {
  if (request.share < 1.0) {
    return request.early == EarlyValue::loss ? -trial.validated.loss : trial.validated.value;
  }
  return keeps_last(request.recipe.checkpoints.final_weights) ? trial.validated.value : trial.best;
}

}  // namespace

LegEnd run_leg(Trial& trial, const LegRequest& request) {
  const LegStart start = start_of(request.folder);
  LegListener listener(trial, request, start.update);
  EndReason reason = EndReason::stopped;
  try {
    reason = Trainer(request.backend, request.recipe, ModelFolder{request.folder}, start.how, listener).run();
  } catch (const NumericError& error) {
    listener.count_time();
    trial.failure = error.what();
    return LegEnd::failed;
  }
  listener.count_time();
  if (reason == EndReason::stopped) {
    return LegEnd::stopped;
  }
  Leg leg = trial.validated;
  leg.share = request.share;
  leg.value = value_of(trial, request);
  trial.legs.push_back(std::move(leg));
  return LegEnd::there;
}

}  // namespace heed
