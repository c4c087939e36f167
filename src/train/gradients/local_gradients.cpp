#include "train/gradients/local_gradients.h"

#include "ops/tape.h"

namespace heed {

std::vector<LossSums> LocalGradients::accumulate_gradients(std::span<const Shard* const> shards,
                                                           const ShardPass& pass) {
  Backend& backend = model_.backend;
  std::vector<LossSums> losses;
  losses.reserve(shards.size());
  for (const Shard* const shard : shards) {
    if (!losses.empty()) {
      model_.trainables.begin_shard(backend);
    }
    Tape tape(pass.loss_scale);
    Pass forward = Pass::train(backend, model_.storage, tape, pass.key);
    const TokenLosses found = loss_of_shard(teacher_, forward, model_.model(), *shard, pass.smoothing);
    tape.backward(backend);
    losses.push_back(sums_of(found));
  }
  model_.trainables.finish_update(backend);
  return losses;
}

}  // namespace heed
