// What training a model takes, and how large a model and its text should be for a budget. For the program only:
// embedders do not link it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/rounding.h"
#include "heed/types/precision.h"
#include "plan/layouts/layouts.h"

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

struct ModelPlan {
  std::string model;                      // in words
  Precision precision = Precision::bf16;  // f32 or bf16
  PlanBatch batch;
  int64_t batches = 1;           // of an update
  int64_t shards_per_batch = 1;  // that a batch is cut into; one goes through the model at a time
  int64_t updates = 0;           // of the recipe's whole run; 0: another limit ends it
  int64_t parameters = 0;
  int64_t trained_parameters = 0;  // the others are frozen
  std::vector<PlanPart> parts;
  double forward_flops = 0.0, training_flops = 0.0;  // of one batch, as if all weights were trained
  double optimizer_flops = 0.0;                      // of an update: Muon's products
  PlanMemory memory;
  std::optional<PlanTiming> timing;
  std::optional<RanksPlan> ranks;

  bool frozen() const { return trained_parameters != parameters; }  // some of the weights
  int64_t shards() const { return batches * shards_per_batch; }     // of an update
  // The largest shard of a batch.
  PlanBatch shard() const {
    return {ceil_div(batch.sequences, shards_per_batch), batch.source_length, batch.target_length};
  }
  int64_t update_tokens() const { return batches * batch.tokens(); }
  double update_flops() const { return static_cast<double>(batches) * training_flops + optimizer_flops; }
};

struct PlanOptions {
  std::string recipe;
  std::vector<std::string> overrides;  // "table.key=value"
  int64_t length = 0;  // tokens of a sequence; 0: the recipe's context, or the usual length of a sentence
  int threads = 0;     // 0: one per processor
  enum class Run : uint8_t { none, short_run } run = Run::short_run;
  std::optional<RanksOptions> ranks;  // without a speed of their own they need the short run
};

// Where the recipe leaves a vocabulary's size to its tokenizer, the largest allowed size is assumed; characters and
// words are counted in the recipe's text. IoError and ConfigError with messages that a user can act on, also when this
// machine does not have the memory for the run.
ModelPlan plan_model(const PlanOptions& options);

// The parameters and training tokens that give the lowest loss for a budget, by one published law.
struct ComputeOptimum {
  std::string law;
  double parameters = 0.0, tokens = 0.0;
  double loss = 0.0;  // by the corrected fit, whatever the law: nats per token of the text that it was fitted to
};

// The fitted loss as published and as corrected, the first paper's two other approaches, and 20 tokens per parameter;
// docs/measurements/scaling.md derives them. ConfigError for a budget that is not a positive number.
std::vector<ComputeOptimum> compute_optima(double flops);

// A chart for budgets around this one: parameters and tokens over FLOPs, as an SVG, or written to a file.
std::string draw_compute_optima(double flops);
void write_compute_optima_chart(double flops, const std::string& file);

// Three digits with K, M, B or T: "205B"; for very large numbers "1.24e+20".
std::string in_short(double number);

}  // namespace heed
