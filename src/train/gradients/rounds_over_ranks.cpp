#include "train/gradients/rounds_over_ranks.h"

#include <algorithm>

#include "base/rounding.h"
#include "ops/tape.h"

namespace heed {

RoundsOverRanks::RoundsOverRanks(ModelInTraining& model, const Distribution& ranks, DType type, const Teacher* teacher)
    : model_(model),
      teacher_(teacher),
      copies_(ranks.copies()),
      exchange_(ranks.holders(), model.backend, model.trainables, model.optimizer.owners(), type) {}

std::vector<LossSums> RoundsOverRanks::accumulate_gradients(std::span<const Shard* const> shards,
                                                            const ShardPass& pass) {
  const auto count = static_cast<size_t>(copies_.count()), own = static_cast<size_t>(copies_.rank());
  const size_t rounds = ceil_div(shards.size(), count);
  exchange_.begin_update();
  std::vector<LossSums> found(rounds);
  for (size_t round = 0; round < rounds; ++round) {
    const size_t begin = round * count;
    exchange_.begin_round(static_cast<int64_t>(std::min(count, shards.size() - begin)));
    if (begin + own < shards.size()) {
      Tape tape(pass.loss_scale);
      Pass forward = Pass::train(model_.backend, model_.storage, tape, pass.key);
      const TokenLosses losses = loss_of_shard(teacher_, forward, model_.model(), *shards[begin + own], pass.smoothing);
      tape.backward(model_.backend, [this] { exchange_.advance(); });
      found[round] = sums_of(losses);
    }
    exchange_.end_round();
  }
  exchange_.finish_update();
  const std::vector<LossSums> all = gathered(copies_, found);
  std::vector<LossSums> in_order;
  in_order.reserve(shards.size());
  for (size_t i = 0; i < shards.size(); ++i) {
    in_order.push_back(all[i % count * rounds + i / count]);
  }
  return in_order;
}

}  // namespace heed
