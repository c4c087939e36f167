// How a run starts: from its recipe, or from what it saved.
#pragma once

#include <memory>
#include <optional>

#include "base/system/files.h"
#include "checkpoint/model_directory.h"
#include "heed/types/train.h"
#include "ranks/ranks.h"
#include "train/learner/learner.h"
#include "train/recipe/recipe.h"
#include "train/run/metrics_log.h"
#include "train/tasks/task.h"

namespace heed {

struct RunRequest {
  Backend& backend;
  const Recipe& recipe;
  const ModelFolder& folder;
  TrainListener& listener;
  const Ranks& ranks;
};

// What is open in a run's folder.
struct RunFiles {
  std::unique_ptr<FolderLock> lock;
  MetricsLog metrics;
};

// A run that is ready for its next update.
struct StartedRun {
  Recipe recipe;  // with what the text decides about the model
  std::unique_ptr<Task> task;
  std::unique_ptr<Learner> learner;
  TrainingState state;
  std::optional<RunFiles> files;  // the first rank's, which alone writes to the folder
};

// Collective. The folder must hold no run; afterwards it holds one that can be resumed. What fails leaves nothing
// there.
StartedRun begin_run(const RunRequest& request);
// Collective. The folder must hold a run of the same recipe, except for its limits.
StartedRun resume_run(const RunRequest& request);

}  // namespace heed
