// A model with random weights, ready for inference.
#pragma once

#include "bench/bench.h"
#include "models/any_model.h"

namespace heed {

class RandomModel {
 public:
  RandomModel(Backend& backend, const ModelConfig& config, DType storage, MatrixForm weights, uint64_t seed)
      : storage_(storage), model_(Scope(weights_), config) {
    weights_.store_initial(backend, storage, seed, weights);
  }

  Inference on(Backend& backend) const { return {model_, backend, storage_, cached_}; }
  void cache_in(DType type) { cached_ = type; }
  int64_t parameters() const { return weights_.elements(); }

  // Only a few rows of a table are read.
  int64_t bytes_of_a_step() const {
    int64_t bytes = 0;
    for (const Weight& weight : weights_.all()) {
      if (weight.use() != WeightUse::table) {
        bytes += weight.bytes();
      }
    }
    return bytes;
  }

 private:
  DType storage_;
  std::optional<DType> cached_;
  Weights weights_;
  AnyModel model_;
};

}  // namespace heed
