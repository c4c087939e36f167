// What an update costs on ranks that share it: time and memory, by formulas of a few numbers.
// docs/measurements/scaling.md derives them. All times are seconds, all sizes bytes, all of one rank unless said
// otherwise.
#pragma once

#include <cstdint>
#include <span>

#include "parallel/layout.h"

namespace heed {

// From each rank to all others together, in either direction at the same time.
struct PlanLink {
  double bytes_per_second = 125e6;  // 1 Gbit/s
  double latency = 50e-6;           // of a message, before its first byte arrives
  double moved_per_second = 0.0;    // bytes between memory and messages, by the processors that compute; 0: by others

  double seconds(double bytes) const { return latency + bytes / bytes_per_second; }
};

// What a reduce-scatter or an all-gather among n ranks sends, of `bytes` that every rank has, or ends with: each rank
// keeps its own part to itself.
constexpr double exchanged_bytes(double bytes, int64_t n) {
  return bytes * static_cast<double>(n - 1) / static_cast<double>(n);
}

// An update, whatever the layout.
struct PlanUpdate {
  int64_t shards = 1;
  int64_t copy_bytes = 2;       // per weight: what products read, whole on every data rank; 4 in f32
  int64_t master_bytes = 4;     // per weight, divided among data ranks; 0 in f32, where products read the masters
  int64_t state_bytes = 8;      // per weight: the optimizer's moments and a moving average
  double gradient_bytes = 4.0;  // per weight, as it travels; of differences in outer steps too
  int64_t local_updates = 1;    // 1: gradients are exchanged in each update; more: weights, once in this many updates
  double optimizer_per_weight = 0.0;  // seconds
};

// What one rank of a stage does with one shard, after the stage's matrices have been divided.
struct PlanStage {
  double forward = 0.0, backward = 0.0;  // seconds of computing; what is recomputed counts as backward
  int64_t trained = 0;                   // weights with gradients
  int64_t trained_last = 0;              // those among them whose gradients backward finishes last
  int64_t other_weight_bytes = 0;        // of weights that are not trained
  int64_t scratch_bytes = 0;             // of the optimizer, not divided among data ranks
  int64_t peak_activations = 0;          // while a shard goes backward
  int64_t kept_activations = 0;          // of a shard that has gone forward and waits to go backward
  int64_t tensor_sums = 0;               // over the parts of the stage, forward and backward
  double tensor_bytes = 0.0;             // that these sums add up, together
  double boundary_bytes = 0.0;           // that go to the next stage, and as much in gradients back
};

struct LayoutTime {
  double compute = 0.0;    // forward and backward of the rank's shards, in the slowest stage
  double optimizer = 0.0;  // the update of the rank's part of the weights
  double idle = 0.0;       // stages wait while the pipeline fills and drains
  // Communication that no computing hides.
  double gradients = 0.0, weights = 0.0;  // between data ranks
  double outer_steps = 0.0;               // between data ranks, with local updates; an update's share
  double stages = 0.0, tensor = 0.0;
  double messages = 0.0;  // the processors' time for what is sent and received

  double communication() const { return gradients + weights + outer_steps + stages + tensor + messages; }
  double total() const { return compute + optimizer + idle + communication(); }
};

struct LayoutMemory {
  int64_t weights = 0, gradients = 0, optimizer = 0, activations = 0;

  int64_t total() const { return weights + gradients + optimizer + activations; }
};

struct LayoutCost {
  Layout layout;
  LayoutTime time;
  LayoutMemory memory;      // of the rank that needs most
  double sent_bytes = 0.0;  // by the rank that sends most, in an update
};

// Shards of the data rank that has most: ceil(S / D).
int64_t rounds_of(const Layout& layout, const PlanUpdate& update);

// `stages` are the layout's, in order. There are at least as many shards as data ranks.
LayoutCost cost_of(const Layout& layout, const PlanUpdate& update, std::span<const PlanStage> stages,
                   const PlanLink& link);

}  // namespace heed
