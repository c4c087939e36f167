// With S shards, D data ranks, P stages, T parts, a link of B bytes a second and latency L; of a stage: w trained
// weights, f and b the seconds of a shard forward and backward, A activations at the peak and K kept:
//
//   R = ceil(S / D)                                           rounds; the micro-batches of a pipeline
//   compute    = R (f + b)
//   optimizer  = w / D x seconds per weight                   w, with local updates
//   tensor     = sums x 2 L + 2 (T - 1) / T x bytes / B       per shard: each sum is a reduce-scatter and an all-gather
//   c          = L + boundary bytes / B                       one way between two stages
//   stages     = 2 c (P - 1) / P                              per shard: see below
//   idle       = (P - 1) (f + b)
//   gradients  = L + max(last, all - b)                       per round: all = (D - 1) / D x w x bytes / B
//   weights    = L + (D - 1) / D x w x copy bytes / B         per update
//   messages   = 2 x bytes sent / M                           M bytes a second between memory and messages
//   outer steps = 2 (L + (D - 1) / D x w x bytes / B) / N     per update, instead of the last two; one in N updates
//
// A pipeline goes one forward, one backward. Stage i of 0 .. P - 1 has k = P - i shards in flight; between the
// forward pass of a shard there and its backward pass lie 2 (k - 1) messages, so k periods take at least
// k (f + b) + 2 (k - 1) c. The first stage, with k = P, sets the pace: f + b + 2 c (P - 1) / P, and R + P - 1 of these
// periods make an update.
#include "plan/layouts/layout_cost.h"

#include <algorithm>

#include "base/errors.h"
#include "base/rounding.h"

namespace heed {
namespace {

double real(int64_t count) { return static_cast<double>(count); }

bool is_local(const Layout& layout, const PlanUpdate& update) { return layout.data > 1 && update.local_updates > 1; }

// For each data rank its part of what is divided; the largest part.
int64_t divided(int64_t bytes, int64_t ranks) { return ceil_div(bytes, ranks); }

double tensor_seconds(const PlanStage& stage, const Layout& layout, const PlanLink& link) {
  return layout.tensor == 1 ? 0.0
                            : 2.0 * real(stage.tensor_sums) * link.latency +
                                  2.0 * exchanged_bytes(stage.tensor_bytes, layout.tensor) / link.bytes_per_second;
}

double gradient_seconds(const PlanStage& stage, const Layout& layout, const PlanUpdate& update, const PlanLink& link) {
  const auto seconds = [&](int64_t weights) {
    return exchanged_bytes(real(weights) * update.gradient_bytes, layout.data) / link.bytes_per_second;
  };
  return link.latency + std::max(seconds(stage.trained_last), seconds(stage.trained) - stage.backward);
}

LayoutTime time_of_layout(const Layout& layout, const PlanUpdate& update, std::span<const PlanStage> stages,
                          const PlanLink& link) {
  const double rounds = real(rounds_of(layout, update)), fill = real(layout.pipeline - 1);
  double slot = 0.0, tensor = 0.0, boundary = 0.0;
  LayoutTime time;
  for (const PlanStage& stage : stages) {
    slot = std::max(slot, stage.forward + stage.backward);
    tensor = std::max(tensor, tensor_seconds(stage, layout, link));
    boundary = std::max(boundary, stage.boundary_bytes);
    const int64_t updated = is_local(layout, update) ? stage.trained : divided(stage.trained, layout.data);
    time.optimizer = std::max(time.optimizer, real(updated) * update.optimizer_per_weight);
    if (layout.data == 1) {
      continue;
    }
    if (is_local(layout, update)) {
      const double one_way = link.seconds(exchanged_bytes(real(stage.trained) * update.gradient_bytes, layout.data));
      time.outer_steps = std::max(time.outer_steps, 2.0 * one_way / real(update.local_updates));
    } else {
      time.gradients = std::max(time.gradients, rounds * gradient_seconds(stage, layout, update, link));
      time.weights =
          std::max(time.weights, link.seconds(exchanged_bytes(real(stage.trained * update.copy_bytes), layout.data)));
    }
  }
  time.compute = rounds * slot;
  time.idle = fill * slot;
  time.tensor = (rounds + fill) * tensor;
  time.stages =
      layout.pipeline == 1 ? 0.0 : (rounds + fill) * 2.0 * link.seconds(boundary) * fill / real(layout.pipeline);
  return time;
}

LayoutMemory memory_of_rank(const Layout& layout, const PlanUpdate& update, const PlanStage& stage, int64_t in_flight) {
  const int64_t w = stage.trained, data = layout.data;
  const bool local = is_local(layout, update);
  const bool sums = rounds_of(layout, update) > 1;  // over its own shards
  LayoutMemory memory;
  memory.weights = stage.other_weight_bytes + w * update.copy_bytes +
                   (local ? w * update.master_bytes : divided(w * update.master_bytes, data));
  memory.gradients = 4 * w + (local || data == 1 ? (sums ? 4 * w : 0) : divided(4 * w, data));
  // The outer step keeps its momentum and the weights after the last one, whole on each rank.
  memory.optimizer =
      stage.scratch_bytes + (local ? w * (update.state_bytes + 8) : divided(w * update.state_bytes, data));
  memory.activations = stage.peak_activations + (in_flight - 1) * stage.kept_activations;
  return memory;
}

double sent_by(const Layout& layout, const PlanUpdate& update, const PlanStage& stage) {
  const double rounds = real(rounds_of(layout, update));
  double between_data = 0.0;
  if (is_local(layout, update)) {
    between_data =
        2.0 * exchanged_bytes(real(stage.trained) * update.gradient_bytes, layout.data) / real(update.local_updates);
  } else {
    between_data = exchanged_bytes(real(stage.trained) * update.gradient_bytes, layout.data) * rounds +
                   exchanged_bytes(real(stage.trained * update.copy_bytes), layout.data);
  }
  return between_data + 2.0 * rounds * exchanged_bytes(stage.tensor_bytes, layout.tensor);
}

}  // namespace

int64_t rounds_of(const Layout& layout, const PlanUpdate& update) { return ceil_div(update.shards, layout.data); }

LayoutCost cost_of(const Layout& layout, const PlanUpdate& update, std::span<const PlanStage> stages,
                   const PlanLink& link) {
  ensure(std::ssize(stages) == layout.pipeline && layout.data <= update.shards, "plan",
         "{} stages for a pipeline of {}, {} shards for {} data ranks", stages.size(), layout.pipeline, update.shards,
         layout.data);
  LayoutCost cost{.layout = layout, .time = time_of_layout(layout, update, stages, link)};
  const int64_t rounds = rounds_of(layout, update);
  double boundary_before = 0.0;  // whose gradients this stage sends back
  for (size_t i = 0; i < stages.size(); ++i) {
    const int64_t in_flight = std::min(layout.pipeline - static_cast<int64_t>(i), rounds);
    const LayoutMemory memory = memory_of_rank(layout, update, stages[i], in_flight);
    if (memory.total() > cost.memory.total()) {
      cost.memory = memory;
    }
    const double boundaries = real(rounds) * (stages[i].boundary_bytes + boundary_before);
    cost.sent_bytes = std::max(cost.sent_bytes, sent_by(layout, update, stages[i]) + boundaries);
    boundary_before = stages[i].boundary_bytes;
  }
  // As much is received as is sent.
  cost.time.messages = link.moved_per_second > 0.0 ? 2.0 * cost.sent_bytes / link.moved_per_second : 0.0;
  return cost;
}

}  // namespace heed
