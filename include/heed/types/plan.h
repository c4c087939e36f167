// What training a model takes.
#pragma once

#include <cstdint>
#include <string>

namespace heed {

// A part of a model: embeddings, attention, feed-forward, norms, output.
struct PlanPart {
  std::string name;
  int64_t parameters = 0;
  double forward_flops = 0.0;   // of one batch; products and attention, which counts only visible keys
  double training_flops = 0.0;  // with backward, and with what is recomputed
};

// A number of sequences, all of one length. A decoder alone has no source, an encoder alone no target.
struct PlanBatch {
  int64_t sequences = 0, source_length = 0, target_length = 0;

  // Tokens of the stream that is predicted.
  int64_t tokens() const { return sequences * (target_length > 0 ? target_length : source_length); }
};

// In bytes.
struct PlanMemory {
  int64_t weights = 0;      // the masters, and in bf16 the copy that products read
  int64_t gradients = 0;    // of the weights
  int64_t optimizer = 0;    // moments, a moving average where one is kept, Muon's scratch
  int64_t activations = 0;  // with their gradients, of one shard, at the peak
  int64_t activations_kept = 0, activations_recomputed = 0;  // the same, without and with recomputed layers
  int64_t cache_per_token = 0;                               // keys and values, while decoding
  int64_t cache_full = 0;                                    // of one sequence of the model's maximum length

  int64_t training() const { return weights + gradients + optimizer + activations; }
};

// Complete updates of the recipe's model on random tokens.
struct PlanTiming {
  int threads = 0, updates = 0;
  double update_seconds = 0.0;     // median
  double optimizer_seconds = 0.0;  // of these, median
};

}  // namespace heed
