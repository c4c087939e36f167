// A training run from its recipe to its model directory.
#pragma once

#include <optional>
#include <string>

#include "base/files.h"
#include "checkpoint/model_directory.h"
#include "heed/train_types.h"
#include "models/any_model.h"
#include "ops/tape.h"
#include "ranks/ranks.h"
#include "train/gradient_exchange.h"
#include "train/layout.h"
#include "train/meetings.h"
#include "train/metrics_log.h"
#include "train/pipeline.h"
#include "train/recipe.h"
#include "train/run_events.h"
#include "train/starting_model.h"
#include "train/task.h"
#include "train/training_state.h"
#include "train/whole_state.h"

namespace heed {

// Owns everything of the run. The same recipe, text and build give the same bits, also after interruptions, as long as
// the limits do not depend on time.
class Trainer {
 public:
  // Fresh: the folder must hold no run. Resume: it must hold one of the same recipe, except for its limits.
  // With several ranks, each has a trainer. The first one alone writes to the folder, validates, and decides when the run
  // ends; the bits are those of one rank.
  Trainer(Backend& backend, const Recipe& recipe, const ModelFolder& folder, TrainStart start, TrainListener& listener,
          const Ranks& ranks = Ranks());

  // Trains until a limit or the listener ends the run. Writes model.safetensors.
  EndReason run();

  int64_t parameters() const { return weights_.elements(); }
  int64_t trained_parameters() const { return trainables_->trained_elements(); }

 private:
  // Sums over targets.
  struct ShardLoss {
    double loss = 0.0, negative_log_likelihood = 0.0, kl_divergence = 0.0;
  };
  struct Totals : ShardLoss {
    double seconds = 0.0, waited = 0.0;
    int64_t targets = 0, sent_bytes = 0;

    void add(const ShardLoss& shard);
  };

  class Meter;  // adds the time and the messages of its life to since_report_

  // Of the shards that this rank has, or of all.
  using ShardLosses = std::vector<ShardLoss>;

  class WeightsInPlace;  // puts the moving average in place of the masters while it lives

  void begin();
  Tokenizers starting_tokenizers(const StartingModel& model) const;
  void resume();
  TrainingState newest_state();
  void make_task(const Tokenizers* tokenizers);
  void build_model();
  void make_trainables(std::vector<WeightPart> parts);
  std::vector<WeightPart> parts_on(const TakenWeights& taken) const;
  void save_adapter_description(const StartingModel& base, const TakenWeights& taken) const;
  std::vector<WeightPart> resumed_parts() const;
  void load_base();
  void require_layout() const;
  Ranks group(RankGroup kind) const;
  void collect_whole();
  void require_enough_shards() const;
  Stage own_stage() const;
  std::vector<int> holders_of_stage(int stage) const;
  PieceOwners divide_pieces() const;
  void compare_ranks() const;
  std::optional<EndReason> agreed_reason_to_end();
  std::optional<EndReason> reason_to_end();
  std::optional<EndReason> limit_reached() const;
  void advance();
  void meet();
  void update();
  void finish_update(const Update& update);
  std::vector<size_t> own_shards(const Update& update) const;
  int64_t targets_of(const Update& update) const;
  Totals differentiate(const Update& update, int64_t targets);
  ShardLoss differentiate_shard(const Update& update, size_t shard, int64_t targets);
  ShardLosses differentiate_in_rounds(const Update& update, int64_t targets);
  ShardLosses differentiate_in_stages(const Update& update, int64_t targets);
  RandomKey dropout_key() const;
  void update_moving_average();
  [[noreturn]] void fail_for_nonfinite(const std::string& what, const Update& update);
  void report_progress();
  void sum_over_ranks(Totals& totals) const;
  std::vector<RankStatus> rank_statuses();
  bool is_due(int64_t every) const;
  bool validation_is_due() const;
  void validate_and_save();
  Scores scores_of_validated_weights();
  void collect_state();
  void release_state();
  void save();
  void write_checkpoint();
  OtherOptimizers other_optimizers() const;
  void write_final_weights();
  double seconds() const;
  double epoch() const;
  double fraction() const;
  bool adapts() const { return recipe_.adapter.rank > 0; }
  void record(const std::string& event);
  bool keeps_average() const { return recipe_.checkpoints.moving_average > 0.0; }
  TrainingTensors tensors() const;

  Backend& backend_;
  Recipe recipe_;
  ModelFolder folder_;
  TrainListener& listener_;
  std::optional<FolderLock> lock_;
  Checkpoints checkpoints_;
  DType storage_;
  Ranks ranks_;
  Layout layout_;
  Ranks copies_;   // those that hold the same of the model as this one
  Ranks holders_;  // the stages of all copies, of this rank's part of the matrices: they hold each weight's part

  std::unique_ptr<Task> task_;
  Weights weights_;
  std::optional<AnyModel> model_;
  std::optional<Trainables> trainables_;
  std::optional<Optimizer> optimizer_;
  std::optional<GradientExchange> exchange_;       // where gradients leave this rank, or are rounded as if they did
  std::optional<StageExchange> stage_exchange_;    // where the model is divided into stages, and there are copies of it
  std::optional<StageGradients> stage_gradients_;  // where it is divided into stages
  std::optional<Pipeline> pipeline_;
  std::optional<Meetings> meetings_;  // where ranks train on their own
  Tensor moving_average_, set_aside_;
  std::optional<WholeState> whole_;  // of a model in parts, on the first rank while it validates and saves

  TrainingState state_;
  std::optional<MetricsLog> metrics_;
  Totals since_report_;
  bool state_is_collected_ = false;
  int64_t advanced_from_ = -1;  // the update before advance()
  int64_t saved_at_ = -1;
  size_t saved_candidates_ = 0;
  int64_t validated_at_ = -1;
  int64_t epochs_at_validation_ = 0;
  double started_ = 0.0;
};

}  // namespace heed
