#include "train/gradients/pipeline_stages.h"

#include "base/rounding.h"

namespace heed {

PipelineStages::PipelineStages(ModelInTraining& model, const Distribution& ranks, DType type)
    : ranks_(ranks),
      trainables_(model.trainables),
      exchange_(ranks.holders(), ranks.holders_of_stage(ranks.own_stage().index), model.backend, model.trainables,
                model.optimizer.owners(), type),
      gradients_(model.backend, model.trainables, model.registered->stages, type, exchange_),
      pipeline_(ranks.stages(), model.backend, model.storage, model.model(), model.registered->stages) {}

// One in each round; null where other copies have one, and this one has none.
std::vector<const Shard*> PipelineStages::own_shards(std::span<const Shard* const> shards) const {
  const auto copies = static_cast<size_t>(ranks_.copies().count()), own = static_cast<size_t>(ranks_.copies().rank());
  std::vector<const Shard*> chosen(ceil_div(shards.size(), copies));
  for (size_t i = own; i < shards.size(); i += copies) {
    chosen[i / copies] = shards[i];
  }
  return chosen;
}

// The last stage of each copy has the losses.
std::vector<LossSums> PipelineStages::accumulate_gradients(std::span<const Shard* const> shards,
                                                           const ShardPass& pass) {
  const std::vector<const Shard*> own = own_shards(shards);
  exchange_.begin_update(std::ssize(shards));
  std::vector<LossSums> found;
  for (const TokenLosses& losses : pipeline_.accumulate_gradients(own, pass, gradients_)) {
    found.push_back(sums_of(losses));
  }
  found.resize(own.size());
  const std::vector<LossSums> all = gathered(ranks_.all(), found);
  const auto copies = static_cast<size_t>(ranks_.copies().count());
  std::vector<LossSums> in_order;
  in_order.reserve(shards.size());
  for (size_t i = 0; i < shards.size(); ++i) {
    const auto last_stage = static_cast<size_t>(ranks_.last_stage_of_copy(static_cast<int>(i % copies)));
    in_order.push_back(all[last_stage * own.size() + i / copies]);
  }
  return in_order;
}

void PipelineStages::discard() {
  trainables_.discard_gradients();
  gradients_.discard();
}

}  // namespace heed
