#include <array>

#include "ops/op_testing.h"

namespace heed::test {
namespace {

struct Small {
  TestParameter table{"table", {7, 6}, 1}, inner{"inner", {8, 6}, 2}, bias{"bias", {8}, 3}, outer{"outer", {6, 4}, 4},
      fused{"fused", {18, 6}, 5}, gain{"gain", {6}, 6, 1.0};
  Segments segments{std::array<int64_t, 2>{3, 2}};
  std::vector<int32_t> ids{1, 2, 3, 4, 5}, positions{0, 1, 2, 0, 1};
  Targets expected{{2, 3, 4, Targets::kIgnored, 6}};

  TokenLosses operator()(Pass& pass) const {
    const Var x = embedding(pass, Tokens(ids), positions, 0, *table, {}, {1.0, dropout_at("embedding", 0.2F)});
    const NormWeights weights{NormKind::rms, gain, nullptr, 1e-5};
    const Var qkv = linear(pass, norm(pass, x, weights), {fused, nullptr});
    rotate(pass, {qkv, 0, 6}, positions, Heads(1), {6, 1e4});
    const AttentionInputs inputs{{qkv, 0, 6}, &segments, {qkv, 6, 6}, {qkv, 12, 6}, &segments};
    const Var y = attention(pass, inputs, {.dropout = dropout_at("weights", 0.2F)});
    const Stream s = add_norm(pass, x, y, weights, dropout_at("branch", 0.2F));
    const Var gated = gate(pass, linear(pass, s.normed, {inner, bias}), Activation::silu, dropout_at("gate", 0.2F));
    const Var out = add(pass, s.residual, linear(pass, gated, {outer, nullptr}), dropout_at("last", 0.2F));
    return output_loss(pass, Hidden(out), {table, nullptr}, expected, Smoothing{0.1F});
  }
  std::vector<TestParameter*> all() { return {&table, &inner, &bias, &outer, &fused, &gain}; }
};

TEST(Pass, GradientThroughEveryOpAtOnceAgreesWithDifferences) {
  Small small;
  const Differentiable function{.inputs = {},
                                .parameters = small.all(),
                                .run =
                                    [&](Pass& pass, const std::vector<Var>&) {
                                      return Outcome{{}, small(pass).total_smoothed()};
                                    },
                                .scale = 0.25};
  EXPECT_TRUE(gradients_are_right(function));
}

TEST(Pass, InferenceRecordsNothingDropsNothingAndKeepsNoMemory) {
  Small small;
  const auto backend = make_reference_backend();
  Pass pass = Pass::infer(*backend, DType::f64);
  EXPECT_FALSE(pass.recording());
  const double first = small(pass).total_smoothed();
  EXPECT_EQ(small(pass).total_smoothed(), first) << "a second use of a dropout site draws anew: something was dropped";
  EXPECT_EQ(backend->arena().bytes_in_use(), 0);
  EXPECT_EQ((*small.table).trainable().writes(), 0);
}

TEST(Pass, TrainingWithAnotherKeyDrawsAnotherDropout) {
  Small small;
  const auto backend = make_reference_backend();
  const auto loss = [&](uint64_t key) {
    Tape tape;
    Pass pass = Pass::train(*backend, DType::f64, tape, RandomKey{key});
    return small(pass).total_smoothed();
  };
  EXPECT_EQ(loss(1), loss(1));
  EXPECT_NE(loss(1), loss(2));
}

TEST(Pass, EachUseOfASiteDrawsAnewAndShardsDrawLikeTheWholeBatch) {
  const auto backend = make_reference_backend();
  Tape tape;
  Pass pass = Pass::train(*backend, DType::f64, tape, RandomKey{1});
  const DropoutSite site = dropout_at("site", 0.5F), other = dropout_at("other", 0.5F);
  const Dropout first = pass.dropout(site, 0), second = pass.dropout(site, 0), elsewhere = pass.dropout(other, 0);
  EXPECT_NE(first.key, second.key);
  EXPECT_NE(first.key, elsewhere.key);
  Pass again = Pass::train(*backend, DType::f64, tape, RandomKey{1});
  const Dropout shard = again.dropout(site, 5);
  EXPECT_EQ(shard.key, first.key);
  for (uint32_t column = 0; column < 64; ++column) {
    EXPECT_EQ(shard.factor(shard.row(2), column), first.factor(first.row(7), column));
  }
  EXPECT_FALSE(pass.dropout(dropout_at("never", 0.0F), 0).active());
}

TEST(Arena, RepeatedStepsLeaveNothingInUseAndDoNotGrow) {
  Small small;
  const auto backend = make_reference_backend();
  int64_t extent = 0;
  for (int step = 0; step < 6; ++step) {
    {
      Tape tape(0.25);
      Pass pass = Pass::train(*backend, DType::f64, tape, RandomKey{static_cast<uint64_t>(step)});
      for (TestParameter* parameter : small.all()) {
        parameter->begin_update();
      }
      const TokenLosses losses = small(pass);
      EXPECT_GT(backend->arena().bytes_in_use(), 0);
      tape.backward(*backend);
      EXPECT_TRUE(std::isfinite(losses.total_smoothed()));
    }
    EXPECT_EQ(backend->arena().bytes_in_use(), 0);
    if (step < 2) {
      extent = backend->arena().extent();
    }
    EXPECT_EQ(backend->arena().extent(), extent) << "step " << step;
  }
}

TEST(Tape, AWeightNamesItsShapesWhenMemoryDoesNotFit) {
  Weight weight("layer.weight", {2, 3}, WeightUse::product);
  const Tensor wrong({2, 2}, DType::f64);
  expect_error<InternalError>([&] { weight.borrow(wrong.view(), nullptr); },
                              {"weight: ", "layer.weight", "[2, 3]", "f64[2, 2]"});
  expect_error<InternalError>([&] { weight.trainable(); }, {"layer.weight", "is not trained"});
  expect_error<InternalError>([&] { weight.vector(); }, {"layer.weight", "is not a vector"});
}

}  // namespace
}  // namespace heed::test
