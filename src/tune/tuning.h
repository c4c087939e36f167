// A tuning as it goes on: rungs, seeds, and what comes of them.
#pragma once

#include <filesystem>

#include "kernels/kernels.h"
#include "tune/rungs.h"
#include "tune/tune.h"
#include "tune/tuning_state.h"
#include "tune/verdict.h"

namespace heed {

struct TuningFolder {
  std::filesystem::path path;

  std::filesystem::path state() const { return path / "tuning.json"; }
  std::filesystem::path corpus() const { return path / "corpus"; }
  std::filesystem::path range_test() const { return path / "range"; }
  std::filesystem::path page() const { return path / "tuning.html"; }
  std::filesystem::path recipe() const { return path / "recipe.toml"; }
  std::filesystem::path run(size_t trial) const;
};

// The recipe that a trial trains by; read from the file again, so that whatever a run would check is checked.
Recipe recipe_of_trial(const TuneOptions& options, const Changes& changes);

class Tuning {
 public:
  Tuning(const TuneOptions& options, Backend& backend, TrainListener& listener, TuningState state);

  // To the end of the last rung and of the second seeds, or until it is stopped or the time is up.
  TuneEnd run();

  const TuningState& state() const { return state_; }
  // The best trial of the last rung that all its trials reached; the recipe itself before the first.
  size_t best() const { return best_; }
  Verdict verdict() const;

 private:
  enum class Went : uint8_t { all, interrupted };

  Went climb(const Rung& rung, const std::vector<size_t>& trials);
  Went run_trial(size_t trial, double share);
  Went run_second_seed(size_t trial);
  void show(const Rung& rung, const std::vector<size_t>& trials, const std::vector<size_t>& kept);
  void stop(size_t trial);
  bool is_over() const;
  bool has_time_for_a_run() const;
  void save();
  size_t first_trials() const;  // those of one seed

  const TuneOptions& options_;
  TuningFolder folder_;
  Backend& backend_;
  TrainListener& listener_;
  TuningState state_;
  size_t best_ = 0;
  bool is_stopped_ = false;
};

}  // namespace heed
