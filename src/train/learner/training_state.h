// The state of a run: what has to be saved so that a resumed run gives the same bits.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/batches/batches.h"
#include "nn/weights/trainables.h"
#include "optim/optimizer.h"

namespace heed {

// A validated checkpoint; a higher `value` is better.
struct Candidate {
  int64_t update = 0;
  double value = 0.0;
  bool on_schedule = true;  // false: validated only because the run ended there
};

struct TrainingState {
  int64_t update = 0;
  BatchPosition position;
  int64_t examples = 0;  // trained on, over all epochs
  double seconds = 0.0;
  int64_t metrics_bytes = 0;          // of metrics.jsonl at that time
  std::vector<Candidate> candidates;  // every validation so far, in order
  std::string arithmetic;             // arithmetic_of() what computed the last update; empty: unknown
};

// The tensors of a run. `moving_average` and `outer_momentum` (OuterOptimizer) are empty where there are none.
struct TrainingTensors {
  View masters;
  Optimizer::State optimizer;
  View moving_average, outer_momentum;
};

// The optimizers of a run's other ranks, where each rank has one of its own: from 1 to `ranks` - 1, asked for in order.
struct OtherOptimizers {
  int ranks = 1;
  std::function<Optimizer::State(int rank)> of;
};

// A run's checkpoints: one folder per update, written under another name and then renamed, so that it is complete or
// does not exist. A folder holds weights.safetensors (the validated weights) and, for resuming, training.safetensors
// and state.json; rank-N.safetensors is the optimizer's state of rank N, where ranks have one each.
class Checkpoints {
 public:
  explicit Checkpoints(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void save(const TrainingState& state, const TrainingTensors& tensors, const Trainables& validated,
            const OtherOptimizers& others = {}) const;
  // Those that can be resumed from, in order.
  std::vector<int64_t> resumable() const;
  // Fills the tensors. FormatError where they are not those of this model.
  TrainingState load(int64_t update, Backend& backend, const TrainingTensors& tensors) const;
  // The optimizer's state of a rank, where ranks have one each. With more ranks than were saved, the states are dealt
  // out in turn.
  void load_optimizer(int64_t update, int rank, Backend& backend, const Optimizer::State& state) const;
  // FormatError when the weights of one of these were damaged or edited.
  void verify_weights(std::span<const int64_t> updates) const;

  std::filesystem::path weights(int64_t update) const;
  // Keeps the newest `resumable` checkpoints, and only the weights of the updates in `weights`; deletes everything
  // else, including what a killed run left unfinished.
  void prune(int64_t resumable, const std::set<int64_t>& weights) const;

 private:
  std::filesystem::path at(int64_t update) const;
  bool is_resumable(int64_t update) const;
  void write(const std::filesystem::path& folder, const TrainingState& state, const TrainingTensors& tensors,
             const Trainables& validated, const OtherOptimizers& others) const;
  std::vector<int64_t> updates() const;  // in order

  std::filesystem::path folder_;
};

}  // namespace heed
