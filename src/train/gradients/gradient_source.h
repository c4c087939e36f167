// How the gradient of an update comes about: on one rank, in rounds over copies of the model, or in stages of it.
#pragma once

#include <span>
#include <vector>

#include "parallel/shard.h"
#include "train/gradients/loss_sums.h"

namespace heed {

// An update's gradient is the sum of its shards' gradients in their order, each complete before it is added, so that it
// has the same bits from every source.
class GradientSource {
 public:
  GradientSource() = default;
  virtual ~GradientSource() = default;
  GradientSource(const GradientSource&) = delete;
  GradientSource& operator=(const GradientSource&) = delete;

  // Collective among the ranks that share the update, which all have the same shards. Afterwards the trainables'
  // gradients are complete for the slices that this rank owns. Returns what each shard lost, in their order, without
  // the numbers of targets.
  virtual std::vector<LossSums> accumulate_gradients(std::span<const Shard* const> shards, const ShardPass& pass) = 0;

  // Gives memory back until the next update.
  virtual void discard() {}
};

}  // namespace heed
