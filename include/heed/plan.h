// What a recipe's training costs, before it is trained. For the Python module: it is not installed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heed/types/interruption.h"
#include "heed/types/plan.h"
#include "heed/types/precision.h"

namespace heed {

// none: costs are calculated alone. short_run: some updates on random tokens are timed, too.
enum class TimedRun : uint8_t { none, short_run };

struct RecipeCostOptions {
  std::string recipe;                  // a file
  std::vector<std::string> overrides;  // "table.key=value"
  int64_t length = 0;  // tokens of a sequence; 0: the recipe's context, or the usual length of a sentence
  int threads = 0;     // 0: one per processor
  TimedRun run = TimedRun::none;
  Interruption interruption = {};  // InterruptedError; takes effect between two batches of the short run
};

struct RecipeCost {
  std::string model;                      // in words
  Precision precision = Precision::bf16;  // f32 or bf16
  PlanBatch batch;
  int64_t updates = 0;        // of the recipe's whole run; 0: another limit ends it
  int64_t update_tokens = 0;  // of the stream that is predicted
  int64_t parameters = 0, trained_parameters = 0;
  std::vector<PlanPart> parts;
  double update_flops = 0.0;
  PlanMemory memory;
  std::optional<PlanTiming> timing;  // of the short run
};

// Where the recipe leaves a vocabulary's size to its tokenizer, the largest allowed size is assumed. IoError and
// ConfigError say what is wrong with the recipe, and that this machine lacks the memory for a short run.
RecipeCost cost_of_recipe(const RecipeCostOptions& options);

}  // namespace heed
