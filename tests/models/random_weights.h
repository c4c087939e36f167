// Small models that write nonsense, for tests of what stands on a model.
#pragma once

#include <memory>
#include <optional>

#include "kernels/cpu/cpu_backend.h"
#include "models/any_model.h"
#include "nn/weights/trainables.h"

namespace heed::test {

// A model whose weights are random, and large enough that its choices differ.
struct RandomWeights {
  explicit RandomWeights(int threads = 2) : backend(make_cpu_backend(threads)) {}

  void draw(const ModelConfig& config, DType storage, uint64_t seed) {
    model.emplace(Scope(weights), config);
    trainables.emplace(*backend, weights, storage, Trainables::Gradients::none);
    trainables->initialize(*backend, seed);
    backend->scale(trainables->masters(), 2.0);
    for (const Weight& weight : weights.all()) {
      // Gains that begin at zero hide what they multiply.
      if (weight.identity().has(WeightRole::skip_norm) || weight.identity().has(WeightRole::value_embedding_norm)) {
        backend->fill(weight.trainable().master(), 1.0);
      }
      if (weight.identity().has(WeightRole::bigram_embedding)) {
        fill(host<float>(weight.trainable().master()), RandomKey{seed});
      }
    }
    trainables->refresh(*backend);
  }
  static void fill(const HostView<float>& table, RandomKey key) {
    for (int64_t i = 0; i < table.rows * table.columns; ++i) {
      table(i / table.columns, i % table.columns) =
          static_cast<float>(uniform_draw(key, static_cast<uint64_t>(i)) - 0.5);
    }
  }
  // Makes the model prefer a token to all others, or avoid it.
  void bias(TokenId token, float value) {
    host<float>(trainables->find("output.bias").master())(0, token.value) = value;
    trainables->refresh(*backend);
  }

  std::unique_ptr<Backend> backend;
  Weights weights;
  std::optional<AnyModel> model;
  std::optional<Trainables> trainables;
};

}  // namespace heed::test
