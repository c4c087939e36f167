// The gradients of a stage's weights, while several shards are on their way through the pipeline.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/weights/trainables.h"
#include "parallel/stage_exchange.h"
#include "parallel/stage_plan.h"

namespace heed {

// An update's gradient is the sum of its shards' gradients in their order, each complete before it is added: the same
// sums as in one process. A stage's backward goes from shard to shard, and completes the gradients of its weights,
// except where it looks up embeddings for another stage (StagePlan::routes): their gradients come back when the later
// stages have long begun the next shards. A table that is also the output projection then has a gradient of its own for
// each shard on its way, to which first the loss contributes, then the rows that come back.
class StageGradients {
 public:
  // Each shard's gradient is rounded to `type` before it is added, also where it does not travel. The owners of the
  // weights get the sum over all copies' shards by the exchange.
  StageGradients(Backend& backend, Trainables& trainables, const StagePlan& plan, DType type, StageExchange& exchange);

  // begin() and finish() enclose all that a shard contributes here, except through embeddings looked up for other
  // stages; begin_routed() and finish_routed() enclose those. Shards come in order, counted from 0, and at most as many
  // are between begin() and finish_routed() as there are stages.
  void begin(int64_t shard);
  void finish(int64_t shard);
  void begin_routed(int64_t shard);
  void finish_routed(int64_t shard);
  // Called instead of these where this copy has no shard while others have one.
  void skip(int64_t shard);
  void skip_routed(int64_t shard);
  // Completes the trainables' gradients of what this rank owns, as Trainables::finish_update does.
  void finish_update();
  // Gives memory back until the next update.
  void discard();

 private:
  View of_update(size_t weight) const;
  View of_shard(size_t weight, int64_t shard);
  View open_table(int64_t shard);
  void complete(const std::vector<size_t>& weights, int64_t shard);
  void skip(const std::vector<size_t>& weights, int64_t shard);
  std::vector<size_t> routed_and_table() const;
  void round(View gradient);

  Backend& backend_;
  Trainables& trainables_;
  DType type_;
  StageExchange& exchange_;
  std::vector<size_t> own_, routed_;  // weights, the shared table in neither
  int64_t table_ = -1;                // the weight that is a routed table and the output projection; -1: none
  Tensor shard_, rounded_;
  std::vector<Tensor> open_;     // of the table, by shard, in turn
  std::vector<int64_t> writes_;  // to those
};

}  // namespace heed
