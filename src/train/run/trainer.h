// A training run from its recipe to its model directory.
#pragma once

#include <optional>
#include <string>

#include "train/run/run_start.h"

namespace heed {

// Owns everything of the run. The same recipe, text and build give the same bits, also after interruptions, as long as
// the limits do not depend on time.
class Trainer {
 public:
  // Fresh: the folder must hold no run. Resume: it must hold one of the same recipe, except for its limits. With
  // several ranks, each has a trainer. The first one alone writes to the folder, validates, and decides when the run
  // ends; the bits are those of one rank.
  Trainer(Backend& backend, const Recipe& recipe, const ModelFolder& folder, TrainStart start, TrainListener& listener,
          const Ranks& ranks = Ranks());

  // Trains until a limit or the listener ends the run. Writes model.safetensors. To be called once.
  EndReason run();

  int64_t parameters() const { return parameters_; }
  int64_t trained_parameters() const { return trained_parameters_; }
  double seconds() const;  // of the run, with those before it was resumed

 private:
  struct Totals {
    LossSums losses;
    double seconds = 0.0, waited = 0.0;
    int64_t sent_bytes = 0;
  };

  class Meter;  // adds the time and the messages of its life to since_report_

  Trainer(const RunRequest& request, TrainStart start);
  Trainer(const RunRequest& request, StartedRun run);

  std::optional<EndReason> agreed_reason_to_end();
  std::optional<EndReason> reason_to_end();
  std::optional<EndReason> limit_reached() const;
  void advance();
  void synchronize();
  void update();
  [[noreturn]] void fail_for_nonfinite(const std::string& what, const Update& update);
  void report_progress();
  LossSums losses_since_report() const;
  std::vector<RankStatus> rank_statuses() const;
  bool is_due(int64_t every) const;
  bool validation_is_due() const;
  void validate_and_save();
  Scores validate(CollectedState& collected);
  void save();
  void save(CollectedState& collected);
  bool is_saved() const { return saved_at_ == state_.update && saved_candidates_ == state_.candidates.size(); }
  void write_checkpoint(CollectedState& collected);
  void write_final_weights(const std::vector<WeightTreatment>& treatments);
  double epoch() const;
  double fraction() const;
  double seconds_of_updates() const;
  const Distribution& ranks() const { return learner_->ranks(); }
  void record(const std::string& event);

  Backend& backend_;
  TrainListener& listener_;
  ModelFolder folder_;
  Checkpoints checkpoints_;

  Recipe recipe_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<Learner> learner_;
  TrainingState state_;
  std::optional<RunFiles> files_;  // the first rank's
  int64_t parameters_, trained_parameters_;

  Totals since_report_;
  int64_t advanced_from_;  // the update before advance()
  int64_t saved_at_;
  size_t saved_candidates_;
  int64_t validated_at_;  // -1: not yet
  int64_t epochs_at_validation_;
  double started_;                   // when the run would have begun if it had never been interrupted
  double validation_seconds_ = 0.0;  // of the last one, with its checkpoint
  double share_of_time_ = 0.0;       // as agreed before this update
};

}  // namespace heed
