// Small models of all three kinds with a batch, on any backend.
#pragma once

#include <optional>

#include "models/any_model.h"
#include "nn/weights/trainables.h"
#include "ops/op_testing.h"

namespace heed::test {

// Every kind of sublayer, with as few columns as possible.
inline ModelConfig small_config(Architecture architecture) {
  return {.architecture = architecture,
          .model = 8,
          .inner = 12,
          .heads = 2,
          .encoder_layers = 2,
          .decoder_layers = 2,
          .source_vocabulary = 11,
          .target_vocabulary = 13,
          .max_length = 16};
}

struct NamedConfig {
  std::string name;
  ModelConfig config;
};
inline std::string name_of_case(const testing::TestParamInfo<NamedConfig>& test) { return test.param.name; }

using TokenLists = std::vector<std::vector<int32_t>>;

// Some sequences of several, their rows numbered as in the whole.
inline Sequences sequences_of(const Sequences& all, int64_t first, int64_t count) {
  std::vector<int64_t> lengths;
  for (int64_t s = first; s < first + count; ++s) {
    lengths.push_back(all.segments().length(s));
  }
  const int64_t begin = all.segments().begin(first);
  const auto from = all.tokens().ids().begin() + begin;
  const Segments segments(lengths, static_cast<uint64_t>(begin));
  return {{from, from + segments.rows()}, segments};
}

inline Targets targets_of(const Targets& all, const Sequences& part) {
  const auto from = all.ids().begin() + static_cast<int64_t>(part.segments().first_row());
  return Targets({from, from + part.rows()});
}

struct ModelBatch {
  PairBatch pairs;
  TokenBatch tokens;

  ModelBatch shard(int64_t first, int64_t count) const {
    const TargetSequences target(sequences_of(pairs.target, first, count));
    const Sequences one = sequences_of(tokens.tokens, first, count);
    return {{SourceSequences(sequences_of(pairs.source, first, count)), target, targets_of(pairs.expected, target)},
            {one, targets_of(tokens.expected, one)}};
  }

  static ModelBatch small() {
    const TokenLists source{{1, 2, 3, 4}, {5, 6}, {7, 8, 9}}, target{{1, 2, 3}, {4, 5, 6, 7}, {8, 9}};
    const Targets expected({2, 3, 0, 5, Targets::kIgnored, 7, 0, 9, 0});
    const Targets themselves({1, -1, 3, -1, -1, 6, 7, -1, 9});
    return {{SourceSequences(source), TargetSequences(target), expected}, {Sequences(source), themselves}};
  }
};

class TestModel {
 public:
  TestModel(Backend& backend, DType storage, const ModelConfig& config, uint64_t seed = 1, Parts parts = {})
      : backend_(backend), storage_(storage), weights_(std::move(parts)) {
    config.validate();
    model_.emplace(Scope(weights_), config);
    trainables_.emplace(backend, weights_, storage);
    trainables_->initialize(backend, seed);
    open_gains();
  }

  const Weights& weights() const { return weights_; }
  Trainables& trainables() { return *trainables_; }
  const AnyModel& model() const { return *model_; }
  const Seq2Seq& seq2seq() const { return model_->seq2seq(); }
  const CausalLM& causal_lm() const { return model_->causal_lm(); }

  TokenLosses loss(Pass& pass, const ModelBatch& batch) const {
    return model_->visit([&](const auto& model) { return loss_of(model, pass, batch); });
  }

  // Loss and, in the trainables, gradients of one training pass.
  double backward(const ModelBatch& batch, double scale = 1.0) {
    trainables_->begin_update();
    const TokenLosses losses = contribute(batch, scale);
    trainables_->finish_update(backend_);
    return losses.total_smoothed();
  }
  // Adds to the gradients of the current shard.
  TokenLosses contribute(const ModelBatch& batch, double scale = 1.0) {
    Tape tape(scale);
    Pass pass = Pass::train(backend_, storage_, tape, RandomKey{5});
    TokenLosses losses = loss(pass, batch);
    tape.backward(backend_);
    return losses;
  }
  // Only the loss, under the same dropout; gradients do not change.
  double training_loss(const ModelBatch& batch) const {
    Tape tape;
    Pass pass = Pass::train(backend_, storage_, tape, RandomKey{5}).unrecorded();
    return loss(pass, batch).total_smoothed();
  }
  std::vector<double> gradients() const { return values_of(trainables_->gradients()); }

 private:
  // Gains that begin at zero hide what they multiply, as tables do that begin at zero.
  void open_gains() {
    for (const Weight& weight : weights_.all()) {
      const WeightIdentity& identity = weight.identity();
      if (identity.has(WeightRole::skip_norm) || identity.has(WeightRole::value_embedding_norm) ||
          identity.has(WeightRole::bigram_embedding)) {
        fill_random(weight.trainable().master(), 77, 0.5);
      }
    }
  }

  static constexpr Smoothing kSmoothing{0.1F};
  static TokenLosses loss_of(const Seq2Seq& model, Pass& pass, const ModelBatch& batch) {
    return model.loss(pass, batch.pairs, kSmoothing);
  }
  template <class TokenModel>
  static TokenLosses loss_of(const TokenModel& model, Pass& pass, const ModelBatch& batch) {
    return model.loss(pass, batch.tokens, kSmoothing);
  }

  Backend& backend_;
  DType storage_;
  Weights weights_;
  std::optional<AnyModel> model_;
  std::optional<Trainables> trainables_;
};

// The gradients of a handful of elements of every parameter, drawn at random, are `scale` times those of `loss()`, found
// by differences.
template <class Loss>
void expect_gradients_of(const TestModel& model, double scale, Loss loss) {
  constexpr double kStep = 1e-5;
  for (const Weight& weight : model.weights().all()) {
    const View master = weight.trainable().master();
    const RandomKey key = RandomKey{3}.derive(weight.name());
    for (uint64_t draw = 0; draw < 4; ++draw) {
      const auto e = static_cast<int64_t>(uniform_draw(key, draw) * static_cast<double>(master.elements()));
      const int64_t r = e / master.columns(), c = e % master.columns();
      const double value = get(master, r, c);
      set(master, r, c, value + kStep);
      const double above = loss();
      set(master, r, c, value - kStep);
      const double below = loss();
      set(master, r, c, value);
      const double expected = scale * (above - below) / (2.0 * kStep);
      EXPECT_NEAR(get(weight.trainable().gradient(), r, c), expected, 2e-7 * (1.0 + std::abs(expected)))
          << weight.name() << " (" << r << ", " << c << ")";
    }
  }
}

}  // namespace heed::test
