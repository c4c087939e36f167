// A translation run from its recipe to its model directory.
#pragma once

#include <optional>
#include <string>

#include "base/files.h"
#include "checkpoint/model_directory.h"
#include "ops/tape.h"
#include "train/metrics_log.h"
#include "train/recipe.h"
#include "train/training_state.h"
#include "train/translation_data.h"
#include "train/validation.h"

namespace heed {

struct TrainingProgress {
  int64_t update = 0;
  double epoch = 0.0;
  double loss = 0.0;  // label-smoothed, per token, mean since the last report
  double negative_log_likelihood = 0.0;
  double learning_rate = 0.0, gradient_norm = 0.0;
  double target_tokens_per_second = 0.0;
  double seconds = 0.0;   // of the run so far
  double fraction = 0.0;  // of the run, as far as its limits tell
};

struct ValidationProgress {
  int64_t update = 0;
  ValidationScores scores;
  double seconds = 0.0;
  bool best = false;
};

// Told what happens; asked whether to go on.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;
  virtual void on_message(const std::string& message) = 0;
  virtual void on_progress(const TrainingProgress& progress) = 0;
  virtual void on_validation(const ValidationProgress& progress) = 0;
  virtual bool wants_to_stop() = 0;
};

enum class Start : uint8_t { fresh, resume };
enum class EndReason : uint8_t { epochs, updates, minutes, patience, stopped };
std::string_view name_of(EndReason reason);

// Holds everything of the run. The same recipe, text and build give the same bits, whatever was interrupted, as long as
// the limits do not depend on time.
class Trainer {
 public:
  // Fresh: the folder must hold no run. Resume: it must hold one of the same recipe, except for its limits.
  Trainer(Backend& backend, const Recipe& recipe, const ModelFolder& folder, Start start, TrainingObserver& observer);

  // Until a limit or the observer ends it. Leaves model.safetensors behind.
  EndReason run();

  int64_t parameters() const { return store_.elements(); }

 private:
  struct Totals {
    double loss = 0.0, negative_log_likelihood = 0.0, seconds = 0.0;
    int64_t tokens = 0;
  };

  class WeightsInPlace;  // the moving average, in the masters' place while it lives

  void begin();
  void resume();
  TrainingState newest_state();
  std::filesystem::path spill_folder() const;
  void build_model();
  void log_start();
  std::optional<EndReason> reason_to_end();
  void update();
  [[noreturn]] void stop_for_numbers(const std::string& what, std::span<const int64_t> sentences);
  void report_progress();
  bool validation_is_due() const;
  void validate_and_save();
  ValidationScores scores_of_validated_weights();
  void save();
  void write_final_weights();
  double seconds() const;
  double epoch() const;
  double fraction() const;
  bool keeps_average() const { return recipe_.checkpoints.moving_average > 0.0; }
  TrainingTensors tensors() const;

  Backend& backend_;
  Recipe recipe_;
  ModelFolder folder_;
  TrainingObserver& observer_;
  std::optional<FolderLock> lock_;
  Checkpoints checkpoints_;
  DType storage_;

  TokenizerPair tokenizers_;
  std::optional<Corpus> corpus_;
  ValidationText validation_;
  std::optional<BatchStream> batches_;

  ParameterStore store_;
  std::optional<Seq2Seq> model_;
  std::optional<Optimizer> optimizer_;
  Tensor moving_average_, set_aside_;

  TrainingState state_;
  std::optional<MetricsLog> metrics_;
  Totals since_report_;
  int64_t saved_at_ = -1;
  size_t saved_candidates_ = 0;
  int64_t validated_at_ = -1;
  int64_t epochs_at_validation_ = 0;
  double started_ = 0.0;
};

DType storage_of(RunPrecision precision);

}  // namespace heed
