#include "plan/plan.h"

#include <algorithm>

#include "base/system/threads.h"
#include "models/any_model.h"
#include "plan/layouts/plan_ranks.h"
#include "plan/model_cost.h"
#include "plan/muon_cost.h"
#include "plan/recipe_plan.h"
#include "plan/short_run.h"
#include "train/learner/weight_treatments.h"
#include "train/run/trainer.h"
#include "train/stages/staged_recipe.h"

namespace heed {
namespace {

constexpr int64_t kMasterBytes = 4;
constexpr int64_t kMoments = 2;  // that the optimizer stores per weight
constexpr double kMaxUpdateTokens = 1e10;

// Assumes that both sides of a translation have the same length.
PlanBatch batch_of(const Recipe& recipe, int64_t length) {
  const BatchSize size = recipe.task->batch_size(length);
  return {.sequences = size.sequences,
          .source_length = recipe.model.architecture == Architecture::causal_lm ? 0 : size.length,
          .target_length = recipe.model.architecture == Architecture::encoder ? 0 : size.length};
}

// A recipe may be planned before it names its text or its limits, so only what the plan reads is checked.
void check_update(const Recipe& recipe, const PlanBatch& batch, const std::string& where) {
  validate_update(recipe.training);
  require<ConfigError>(recipe.training.updates >= 0, where, "training.updates is {}, expected at least 0",
                       recipe.training.updates);
  require<ConfigError>(batch.sequences >= 1, where, "a batch of {} sequences, expected at least 1", batch.sequences);
  const double length = static_cast<double>(std::max(batch.source_length, batch.target_length));
  const double tokens = static_cast<double>(recipe.training.accumulate) * static_cast<double>(batch.sequences) * length;
  require<ConfigError>(tokens <= kMaxUpdateTokens, where, "an update of {:.3g} tokens, expected at most {:g}", tokens,
                       kMaxUpdateTokens);
}

std::string describe_model(const ModelConfig& config) {
  const bool encodes = config.architecture != Architecture::causal_lm;
  const bool decodes = config.architecture != Architecture::encoder;
  // One number, or those of encoder and decoder when there are both and they differ.
  const auto sizes = [&](int64_t encoder, int64_t decoder) {
    return encodes && decodes && encoder != decoder ? fmt::format("{} and {}", encoder, decoder)
                                                    : fmt::format("{}", encodes ? encoder : decoder);
  };
  const std::string keys = config.key_heads_text(), whole = fmt::format("{}", config.heads);
  return fmt::format("{}: layers {}, model {}, inner {}{}, heads {}{}, vocabulary {}", describe(config.architecture),
                     encodes && decodes ? fmt::format("{} + {}", config.encoder_layers, config.decoder_layers)
                                        : sizes(config.encoder_layers, config.decoder_layers),
                     config.model, describe(config.inner), config.gating == Gating::gated ? " gated" : "", config.heads,
                     keys == whole ? "" : fmt::format(" ({} of keys)", keys),
                     sizes(config.source_vocabulary, config.target_vocabulary));
}

// Numbers of parameters, by what training does with them; those of adapters are trained. A base may be quantized.
struct SizesByTreatment {
  int64_t trained = 0, frozen = 0;
  BaseBytes of_base;
};

SizesByTreatment sizes_by_treatment(const Recipe& recipe, const ModelConfig& config) {
  Weights weights;
  const AnyModel model(Scope(weights), config);
  const std::vector<WeightTreatment> treatments = planned_treatments(recipe, weights);
  SizesByTreatment sizes;
  for (size_t i = 0; i < treatments.size(); ++i) {
    const int64_t elements = weights.all()[i].shape().elements();
    sizes.trained += treatments[i] == WeightTreatment::trained ? elements : 0;
    sizes.frozen += treatments[i] == WeightTreatment::frozen ? elements : 0;
  }
  sizes.of_base = planned_base_bytes(recipe, weights, treatments);
  return sizes;
}

PlanMemory memory_of(const Recipe& recipe, const ModelConfig& config, const PlanBatch& shard,
                     const SizesByTreatment& sizes, const MuonCost& muon) {
  const DType storage = storage_of(recipe.training.precision);
  const auto activations = [&](Recompute recompute) {
    ModelConfig other = config;
    other.recompute = recompute;
    return cost_of(other, shard, storage).activation_bytes + sizes.of_base.largest_unpacked;
  };
  const int64_t copies = storage == DType::f32 ? 0 : size_of(storage);
  const int64_t averages = recipe.checkpoints.moving_average > 0.0 ? 1 : 0;
  const int64_t shards = recipe.training.accumulate * shards_per_batch(recipe.training);
  const int64_t gradients = shards > 1 ? 2 : 1;  // the sum, and those of the current shard
  PlanMemory memory{
      .weights = (sizes.trained + sizes.frozen) * (kMasterBytes + copies) + sizes.of_base.held,
      .gradients = sizes.trained * kMasterBytes * gradients,
      .optimizer = sizes.trained * kMasterBytes * (kMoments + averages) + muon.scratch_bytes,
      .activations_kept = activations(Recompute::nothing),
      .activations_recomputed = activations(Recompute::layers),
  };
  memory.activations = config.recompute == Recompute::nothing ? memory.activations_kept : memory.activations_recomputed;
  if (config.architecture != Architecture::encoder) {
    memory.cache_per_token = cache_bytes_per_token(config, storage);
    memory.cache_full = full_cache_bytes(config, storage);
  }
  return memory;
}

}  // namespace

ModelPlan plan_model(const PlanOptions& options) {
  return plan_recipe(read_recipe(options.recipe, options.overrides), options);
}

std::vector<TrainingPlan> plan_trainings(const PlanOptions& options) {
  std::vector<TrainingPlan> plans;
  if (!has_stages(options.recipe)) {
    plans.push_back({"", plan_model(options)});
    return plans;
  }
  const StagedRecipe staged(options.recipe, options.overrides, "");
  for (const RecipeStage& stage : staged.stages()) {
    if (stage.kind == StageKind::train) {
      plans.push_back({stage.name, plan_recipe(staged.sized(stage), options)});
    }
  }
  return plans;
}

ModelPlan plan_recipe(const Recipe& recipe, const PlanOptions& options) {
  const ModelConfig config = sized_model(recipe, options.recipe);
  const PlanBatch batch = batch_of(recipe, options.length);
  const int64_t length = std::max(batch.source_length, batch.target_length);
  require<ConfigError>(options.length >= 0 && length <= config.max_length, options.recipe,
                       "sequences of {} tokens, expected 1 to {}, the most that the model takes",
                       options.length < 0 ? options.length : length, config.max_length);
  check_update(recipe, batch, options.recipe);
  const DType storage = storage_of(recipe.training.precision);
  ModelCost cost = cost_of(config, batch, storage);
  const MuonCost muon = muon_cost(config, {recipe.optimizer, storage, thread_count(options.threads)});
  const SizesByTreatment sizes = sizes_by_treatment(recipe, config);
  ModelPlan plan{
      .model = describe_model(config),
      .precision = precision_of(storage),
      .batch = batch,
      .batches = recipe.training.accumulate,
      .shards_per_batch = shards_per_batch(recipe.training),
      .updates = recipe.training.updates,
      .parameters = cost.parameters,
      .trained_parameters = sizes.trained,
      .parts = std::move(cost.parts),
      .forward_flops = cost.forward_flops,
      .training_flops = cost.training_flops,
      .optimizer_flops = muon.flops,
  };
  require<ConfigError>(plan.shards_per_batch <= batch.sequences, options.recipe,
                       "training.shards cuts a batch of {} sequence{} into {}", batch.sequences,
                       batch.sequences == 1 ? "" : "s", plan.shards_per_batch);
  plan.memory = memory_of(recipe, config, plan.shard(), sizes, muon);
  const PlannedModel planned{recipe, config, plan};
  if (options.ranks) {
    validate(*options.ranks, planned);  // before time is spent on the run
  }
  if (options.run == PlanOptions::Run::short_run) {
    plan.timing = time_short_run(recipe, config, plan, options);
  }
  if (options.ranks) {
    plan.ranks = plan_ranks(*options.ranks, planned);
  }
  return plan;
}

}  // namespace heed
