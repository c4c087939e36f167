// A training run from its recipe to its model directory.
#pragma once

#include <optional>
#include <string>

#include "base/system/files.h"
#include "checkpoint/model_directory.h"
#include "heed/train_types.h"
#include "ranks/ranks.h"
#include "train/learner/distribution.h"
#include "train/learner/learner.h"
#include "train/learner/starting_model.h"
#include "train/learner/training_state.h"
#include "train/recipe/recipe.h"
#include "train/run/metrics_log.h"
#include "train/run/run_events.h"
#include "train/tasks/task.h"

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

  // Trains until a limit or the listener ends the run. Writes model.safetensors.
  EndReason run();

  int64_t parameters() const { return learner_->weights().elements(); }
  int64_t trained_parameters() const { return learner_->trainables().trained_elements(); }

 private:
  struct Totals : LossSums {
    double seconds = 0.0, waited = 0.0;
    int64_t sent_bytes = 0;
  };

  class Meter;  // adds the time and the messages of its life to since_report_

  void begin();
  void resume();
  TrainingState newest_state();
  void make_task(const Tokenizers* tokenizers);
  void build_model();
  void compare_ranks() const;
  std::optional<EndReason> agreed_reason_to_end();
  std::optional<EndReason> reason_to_end();
  std::optional<EndReason> limit_reached() const;
  void advance();
  void synchronize();
  void update();
  [[noreturn]] void fail_for_nonfinite(const std::string& what, const Update& update);
  void report_progress();
  void sum_over_ranks(LossSums& sums) const;
  std::vector<RankStatus> rank_statuses() const;
  bool is_due(int64_t every) const;
  bool validation_is_due() const;
  void validate_and_save();
  void save();
  void write_checkpoint();
  void write_final_weights();
  double seconds() const;
  double epoch() const;
  double fraction() const;
  bool adapts() const { return recipe_.adapter.rank > 0; }
  void record(const std::string& event);

  Backend& backend_;
  Recipe recipe_;
  ModelFolder folder_;
  TrainListener& listener_;
  std::optional<FolderLock> lock_;
  Checkpoints checkpoints_;
  Distribution ranks_;

  std::unique_ptr<Task> task_;
  std::optional<Learner> learner_;

  TrainingState state_;
  std::optional<MetricsLog> metrics_;
  Totals since_report_;
  int64_t advanced_from_ = -1;  // the update before advance()
  int64_t saved_at_ = -1;
  size_t saved_candidates_ = 0;
  int64_t validated_at_ = -1;
  int64_t epochs_at_validation_ = 0;
  double started_ = 0.0;
};

}  // namespace heed
