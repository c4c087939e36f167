// What training a model takes, and how large a model and its text should be for a budget. For the program only:
// embedders do not link it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/rounding.h"
#include "heed/types/interruption.h"
#include "heed/types/plan.h"
#include "heed/types/precision.h"
#include "plan/layouts/layouts.h"

namespace heed {

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
  Interruption interruption = {};     // InterruptedError when it comes before the short run has ended
  std::optional<RanksOptions> ranks;  // without a speed of their own they need the short run
};

// Where the recipe leaves a vocabulary's size to its tokenizer, the largest allowed size is assumed; characters and
// words are counted in the recipe's text. IoError and ConfigError with messages that a user can act on, also when this
// machine does not have the memory for the run.
ModelPlan plan_model(const PlanOptions& options);

// The plans of a recipe's trainings: of one with stages, of each that trains, with its name; of another, one without.
struct TrainingPlan {
  std::string stage;
  ModelPlan plan;
};
std::vector<TrainingPlan> plan_trainings(const PlanOptions& options);

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
