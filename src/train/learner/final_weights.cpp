#include "train/learner/final_weights.h"

#include <algorithm>

#include "checkpoint/model_directory.h"
#include "checkpoint/weights.h"
#include "models/any_model.h"

namespace heed {
namespace {

std::vector<int64_t> first_updates(const std::vector<Candidate>& ranked, int64_t count) {
  std::vector<int64_t> updates;
  for (const Candidate& candidate : ranked) {
    if (static_cast<int64_t>(updates.size()) < count) {
      updates.push_back(candidate.update);
    }
  }
  return updates;
}

}  // namespace

std::vector<int64_t> final_updates(const CheckpointRecipe& rules, const std::vector<Candidate>& candidates) {
  std::vector<Candidate> newest_first(candidates.rbegin(), candidates.rend());
  std::vector<Candidate> best_first = candidates;
  std::ranges::stable_sort(best_first, std::greater(), &Candidate::value);
  switch (rules.final_weights) {
    case FinalWeights::last:
    case FinalWeights::moving_average:
      return {};
    case FinalWeights::best:
      return first_updates(best_first, 1);
    case FinalWeights::average_of_last:
      return first_updates(newest_first, rules.average);
    case FinalWeights::average_of_best:
      return first_updates(best_first, rules.average);
  }
  return {};
}

// The mean m_i of the first i: m_i = m_{i-1} + (w_i - m_{i-1}) / i.
void write_average(Backend& backend, const RunWeights& run, const Checkpoints& checkpoints,
                   std::span<const int64_t> updates, const std::filesystem::path& path) {
  Weights weights;
  const AnyModel shape(Scope(weights), run.config);
  if (run.adapter.rank > 0) {
    add_adapters(weights, run.adapter);
  }
  Trainables trainables(backend, weights, backend.master_type(), Trainables::Gradients::none, run.treatments);
  Tensor mean({trainables.masters().elements()}, backend.master_type());
  std::string made_of;
  for (size_t i = 0; i < updates.size(); ++i) {
    load_masters(checkpoints.weights(updates[i]), backend, trainables);
    backend.blend(trainables.masters(), mean.view(), 1.0 / static_cast<double>(i + 1));
    made_of += fmt::format("{}{}", made_of.empty() ? "" : ",", updates[i]);
  }
  backend.copy(mean.view(), trainables.masters());
  Metadata metadata = mark_of(run.config);
  metadata["updates"] = made_of;
  save_weights(path, trainables, metadata);
}

}  // namespace heed
