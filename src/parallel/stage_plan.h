// A model whose layers are divided into stages, each run by ranks of its own: who runs and holds what.
#pragma once

#include <vector>

#include "models/config.h"
#include "parallel/stage_ends.h"

namespace heed {

// One of `count` stages; of one, the whole model.
struct Stage {
  int index = 0, count = 1;
};

// The layers that a stage runs, of an encoder and of a decoder. A stage with the first layers of a stack also enters
// it, and one with the last also leaves it.
struct StageRanges {
  LayerRange encoder, decoder;

  bool operator==(const StageRanges&) const = default;
};

// A Var that crosses from one stage to the next, and whether its rows are those of the source or of the target.
struct StagePort {
  enum class Rows : uint8_t { source, target };

  BoundaryTensor what = BoundaryTensor::residual;
  Rows rows = Rows::source;

  bool operator==(const StagePort&) const = default;
};

// Embedded tokens that one stage, the home of the table, looks up for another, the reader. So it is where the table is
// also the output projection, which the last stage has.
struct EmbeddingRoute {
  StagePort port;
  int home = 0, reader = 0;
};

// Follows from the configuration and the number of stages alone. Layers stay in order, those of an encoder before those
// of a decoder, and are cut where the largest work of a stage, in products of a token, becomes smallest.
class StagePlan {
 public:
  // ConfigError where there are more stages than layers, or where stages would share what they can't: relative biases,
  // which all layers of a stack have in common.
  StagePlan(const ModelConfig& config, int count);

  int count() const { return static_cast<int>(layers_.size()); }
  const StageRanges& layers_of(int stage) const { return layers_[static_cast<size_t>(stage)]; }
  // What a stage has from the one before it, in the order in which it is sent. The same goes back as gradients.
  std::vector<StagePort> inputs_of(int stage) const;
  // Routes of the tables whose home is not their reader.
  const std::vector<EmbeddingRoute>& routes() const { return routes_; }

  // Who holds a weight: where it is read. A norm that the layer before it computes is with that layer.
  int stage_of(const WeightIdentity& weight) const;
  // Whether it belongs to an embedding that is looked up for another stage.
  bool is_routed(const WeightIdentity& weight) const;

 private:
  struct Table {
    Stack stack;  // that reads it
    int home = 0, reader = 0;
  };

  const Table* table_of(const WeightIdentity& weight) const;
  int stage_of_layer(int64_t layer) const;  // counted over both stacks
  bool is_whole(int64_t first, int64_t end) const;
  void place_tables(const ModelConfig& config);

  std::vector<StageRanges> layers_;
  std::vector<int64_t> ends_;  // of each stage's layers, counted over both stacks
  int64_t encoder_layers_ = 0, decoder_layers_ = 0;
  bool stream_is_normed_ = false;
  std::vector<Table> tables_;
  std::vector<EmbeddingRoute> routes_;
};

}  // namespace heed
