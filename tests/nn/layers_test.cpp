#include "nn/layers.h"

#include "nn/embedding.h"
#include "nn/weights/trainables.h"

#include "ops/op_testing.h"

namespace heed::test {
namespace {

constexpr int64_t kWidth = 8;

StackShape small_stack(int64_t layers) {
  return {.layers = layers,
          .attention = {.model = kWidth, .heads = 2, .key_value_heads = 2, .head_width = 4},
          .feed_forward = {.model = kWidth, .inner = 12},
          .residual = {.norm = {.width = kWidth}}};
}

StackShape small_stack(int64_t layers, NormPlacement placement) {
  StackShape shape = small_stack(layers);
  shape.residual.placement = placement;
  return shape;
}

// Weights in double, all of them random, so that a forgotten bias or gain is noticed.
class Layers : public ::testing::Test {
 protected:
  void start() {
    trainables_.emplace(*backend_, weights_, DType::f64, Trainables::Gradients::none);
    fill_random(trainables_->masters(), 99, 0.5);
  }
  Pass infer() { return Pass::infer(*backend_, DType::f64); }
  Var random_rows(int64_t rows, uint64_t stream) {
    return make_var(*backend_, random_tensor({rows, kWidth}, stream).view());
  }
  LinearWeights layer(const std::string& name) {
    return {&weights_.find(name + ".weight"), &weights_.find(name + ".bias")};
  }
  NormWeights norm_of(const std::string& name) {
    return {NormKind::layer, &weights_.find(name + ".gain"), &weights_.find(name + ".bias"), 1e-5};
  }

  // The sublayers of the paper, from plain ops.
  Var self_attention(Pass& pass, const std::string& name, const Var& x, const Segments& segments, Visibility sees) {
    const Var qkv = linear(pass, x, layer(name + ".projection"));
    const AttentionInputs inputs{
        {qkv, 0, kWidth}, &segments, {qkv, kWidth, kWidth}, {qkv, 2 * kWidth, kWidth}, &segments};
    return linear(pass, attention(pass, inputs, {.heads = 2, .key_value_heads = 2, .visibility = sees}),
                  layer(name + ".output"));
  }
  Var feed_forward(Pass& pass, const std::string& name, const Var& x) {
    return linear(pass, linear(pass, x, layer(name + ".inner"), {Activation::relu, {}}), layer(name + ".output"));
  }
  Var sum(Pass& pass, const Var& a, const Var& b) { return add(pass, a, b, {}); }

  static void expect_near(const ConstView& found, const ConstView& expected, double tolerance) {
    ASSERT_EQ(found.text(), expected.text());
    const std::vector<double> a = values_of(found), b = values_of(expected);
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_NEAR(a[i], b[i], tolerance) << "element " << i;
    }
  }

  std::unique_ptr<Backend> backend_ = make_reference_backend();
  Weights weights_;
  std::optional<Trainables> trainables_;
  const Sequences sequences_{{{1, 2, 3}, {4, 5}}};
};

// x = x + f(norm(x)), and a norm at the end.
TEST_F(Layers, PreNormFollowsItsEquation) {
  const SelfAttentionStack encoder(Scope(weights_) / "e", small_stack(2));
  start();
  Pass pass = infer();
  const Var embedded = random_rows(5, 1);
  Var x = embedded;
  for (const std::string layer : {"e.layers.0.", "e.layers.1."}) {
    x = sum(pass, x,
            self_attention(pass, layer + "attention", norm(pass, x, norm_of(layer + "attention.norm")),
                           sequences_.segments(), Visibility::full()));
    x = sum(pass, x, feed_forward(pass, layer + "feed_forward", norm(pass, x, norm_of(layer + "feed_forward.norm"))));
  }
  const Var expected = norm(pass, x, norm_of("e.norm"));
  expect_near(encoder(pass, embedded, sequences_).var().value(), expected.value(), 1e-12);
}

// The last of four layers adds norm(output of the first) to its input; the second's output is what the third reads.
TEST_F(Layers, MirroredSkipsFollowTheirEquation) {
  StackShape shape = small_stack(4);
  shape.skips = Skips::mirrored;
  const SelfAttentionStack encoder(Scope(weights_) / "e", shape);
  start();
  Pass pass = infer();
  const Var embedded = random_rows(5, 1);
  Var x = embedded;
  std::vector<Var> outputs;
  for (const int layer : {0, 1, 2, 3}) {
    const std::string name = fmt::format("e.layers.{}.", layer);
    if (layer == 3) {
      x = sum(pass, x, norm(pass, outputs[0], {NormKind::layer, &weights_.find(name + "skip.gain"), nullptr, 1e-5}));
    }
    x = sum(pass, x,
            self_attention(pass, name + "attention", norm(pass, x, norm_of(name + "attention.norm")),
                           sequences_.segments(), Visibility::full()));
    x = sum(pass, x, feed_forward(pass, name + "feed_forward", norm(pass, x, norm_of(name + "feed_forward.norm"))));
    outputs.push_back(x);
  }
  const Var expected = norm(pass, x, norm_of("e.norm"));
  expect_near(encoder(pass, embedded, sequences_).var().value(), expected.value(), 1e-12);
  EXPECT_THAT(weights_.all(), ::testing::Not(::testing::Contains(
                                  ::testing::Property(&Weight::name, ::testing::StartsWith("e.layers.2.skip")))));
  // In parts, one layer at a time.
  Stream stream = encoder.enter(pass, embedded);
  for (size_t layer = 0; layer < 4; ++layer) {
    stream = encoder.run(pass, stream, {layer, layer + 1}, sequences_);
  }
  expect_near(encoder.leave(pass, stream).var().value(), expected.value(), 1e-12);
}

// v + norm(table[token]) takes the place of v.
TEST_F(Layers, ValueEmbeddingsFollowTheirEquation) {
  StackShape shape = small_stack(1);
  const Weight& table = Scope(weights_).add("table", WeightRole::value_embedding, {9, kWidth}, WeightUse::table,
                                            Initialization::normal(1.0));
  shape.attention.value_table = &table;
  const SelfAttentionStack encoder(Scope(weights_) / "e", shape);
  start();
  Pass pass = infer();
  const Var embedded = random_rows(5, 1);
  const std::string name = "e.layers.0.attention";
  const Var qkv = linear(pass, norm(pass, embedded, norm_of(name + ".norm")), layer(name + ".projection"));
  const Var rows = embedding(pass, sequences_.tokens(), sequences_.positions(), 0, table, {}, {});
  const Var added =
      norm(pass, rows, {NormKind::layer, &weights_.find(name + ".value_embedding_norm.gain"), nullptr, 1e-5});
  for (int64_t r = 0; r < 5; ++r) {
    for (int64_t c = 0; c < kWidth; ++c) {
      host<double>(qkv.value())(r, 2 * kWidth + c) += host<double>(added.value())(r, c);
    }
  }
  const Segments& segments = sequences_.segments();
  const AttentionInputs inputs{
      {qkv, 0, kWidth}, &segments, {qkv, kWidth, kWidth}, {qkv, 2 * kWidth, kWidth}, &segments};
  Var x =
      sum(pass, embedded,
          linear(pass, attention(pass, inputs, {.heads = 2, .key_value_heads = 2, .visibility = Visibility::full()}),
                 layer(name + ".output")));
  x = sum(pass, x,
          feed_forward(pass, "e.layers.0.feed_forward", norm(pass, x, norm_of("e.layers.0.feed_forward.norm"))));
  expect_near(encoder(pass, embedded, sequences_).var().value(), norm(pass, x, norm_of("e.norm")).value(), 1e-12);
}

// x = norm(x + f(x)).
TEST_F(Layers, PostNormFollowsItsEquation) {
  StackShape shape = small_stack(2);
  shape.residual.placement = NormPlacement::post;
  shape.final_norm = FinalNorm::none;
  const SelfAttentionStack encoder(Scope(weights_) / "e", shape);
  start();
  Pass pass = infer();
  const Var embedded = random_rows(5, 1);
  Var x = embedded;
  for (const std::string layer : {"e.layers.0.", "e.layers.1."}) {
    const Var y = self_attention(pass, layer + "attention", x, sequences_.segments(), Visibility::full());
    x = norm(pass, sum(pass, x, y), norm_of(layer + "attention.norm"));
    x = norm(pass, sum(pass, x, feed_forward(pass, layer + "feed_forward", x)), norm_of(layer + "feed_forward.norm"));
  }
  expect_near(encoder(pass, embedded, sequences_).var().value(), x.value(), 1e-12);
}

// x = x + norm(f(norm(x))), and without the inner norm x + norm(f(x)); a norm at the end.
TEST_F(Layers, SandwichAndBranchNormsFollowTheirEquations) {
  const SelfAttentionStack sandwich(Scope(weights_) / "s", small_stack(2, NormPlacement::sandwich));
  const SelfAttentionStack branch(Scope(weights_) / "b", small_stack(2, NormPlacement::branch));
  start();
  Pass pass = infer();
  const Var embedded = random_rows(5, 1);
  for (const std::string name : {"s", "b"}) {
    const auto read = [&](const Var& x, const std::string& sublayer) {
      return name == "s" ? norm(pass, x, norm_of(sublayer + ".norm")) : x;
    };
    Var x = embedded;
    for (const std::string& layer : {name + ".layers.0.", name + ".layers.1."}) {
      const Var attended = self_attention(pass, layer + "attention", read(x, layer + "attention"),
                                          sequences_.segments(), Visibility::full());
      x = sum(pass, x, norm(pass, attended, norm_of(layer + "attention.branch_norm")));
      const Var fed = feed_forward(pass, layer + "feed_forward", read(x, layer + "feed_forward"));
      x = sum(pass, x, norm(pass, fed, norm_of(layer + "feed_forward.branch_norm")));
    }
    const Var expected = norm(pass, x, norm_of(name + ".norm"));
    const SelfAttentionStack& stack = name == "s" ? sandwich : branch;
    expect_near(stack(pass, embedded, sequences_).var().value(), expected.value(), 1e-12);
  }
}

// x = x + attention(y) + feed_forward(y), y = norm(x).
TEST_F(Layers, ParallelBranchesFollowTheirEquation) {
  StackShape shape = small_stack(2);
  shape.branches = Branches::parallel;
  const SelfAttentionStack stack(Scope(weights_) / "p", shape);
  start();
  Pass pass = infer();
  const Var embedded = random_rows(5, 1);
  Var x = embedded;
  for (const std::string layer : {"p.layers.0.", "p.layers.1."}) {
    const Var y = norm(pass, x, norm_of(layer + "attention.norm"));
    x = sum(pass, x, self_attention(pass, layer + "attention", y, sequences_.segments(), Visibility::full()));
    x = sum(pass, x, feed_forward(pass, layer + "feed_forward", y));
  }
  expect_near(stack(pass, embedded, sequences_).var().value(), norm(pass, x, norm_of("p.norm")).value(), 1e-12);
}

// x = x + attention(norm1(x)) + feed_forward(norm2(x)).
TEST_F(Layers, ParallelBranchesWithOwnNormsFollowTheirEquation) {
  StackShape shape = small_stack(2);
  shape.branches = Branches::parallel_own_norms;
  const SelfAttentionStack stack(Scope(weights_) / "p", shape);
  start();
  Pass pass = infer();
  const Var embedded = random_rows(5, 1);
  Var x = embedded;
  for (const std::string layer : {"p.layers.0.", "p.layers.1."}) {
    const Var attended = self_attention(pass, layer + "attention", norm(pass, x, norm_of(layer + "attention.norm")),
                                        sequences_.segments(), Visibility::full());
    const Var fed = feed_forward(pass, layer + "feed_forward", norm(pass, x, norm_of(layer + "feed_forward.norm")));
    x = sum(pass, sum(pass, x, attended), fed);
  }
  expect_near(stack(pass, embedded, sequences_).var().value(), norm(pass, x, norm_of("p.norm")).value(), 1e-12);
}

TEST_F(Layers, FinalNormsArePresentOrAbsentInEachPlacement) {
  for (const NormPlacement placement :
       {NormPlacement::pre, NormPlacement::post, NormPlacement::sandwich, NormPlacement::branch}) {
    Weights with, without;
    StackShape shape = small_stack(1);
    shape.residual.placement = placement;
    SelfAttentionStack(Scope(with), shape);
    shape.final_norm = FinalNorm::none;
    SelfAttentionStack(Scope(without), shape);
    EXPECT_EQ(with.elements() - without.elements(), 2 * kWidth);
  }
}

TEST_F(Layers, TheDecoderAttendsToTheMemoryBetweenSelfAttentionAndFeedForward) {
  StackShape shape = small_stack(1);
  shape.attention.visibility = Visibility::causal();
  const Decoder decoder(Scope(weights_) / "d", shape);
  start();
  Pass pass = infer();
  const Sequences source{{{1, 2, 3, 4}, {5}}};
  const Var embedded = random_rows(5, 1), remembered = random_rows(5, 2);
  const std::string layer_name = "d.layers.0.";
  Var x = embedded;
  x = sum(
      pass, x,
      self_attention(pass, layer_name + "self_attention", norm(pass, x, norm_of(layer_name + "self_attention.norm")),
                     sequences_.segments(), Visibility::causal()));
  const std::string cross = layer_name + "cross_attention";
  const Var q = linear(pass, norm(pass, x, norm_of(cross + ".norm")), layer(cross + ".query"));
  const Var kv = linear(pass, remembered, layer(cross + ".key_value"));
  const Var y = attention(
      pass, {Columns::all(q), &sequences_.segments(), {kv, 0, kWidth}, {kv, kWidth, kWidth}, &source.segments()},
      {.heads = 2, .key_value_heads = 2});
  x = sum(pass, x, linear(pass, y, layer(cross + ".output")));
  x = sum(pass, x,
          feed_forward(pass, layer_name + "feed_forward", norm(pass, x, norm_of(layer_name + "feed_forward.norm"))));
  const Var expected = norm(pass, x, norm_of("d.norm"));
  const Memory memory{Hidden(remembered), &source.segments()};
  expect_near(decoder(pass, embedded, sequences_, memory).var().value(), expected.value(), 1e-12);
}

TEST_F(Layers, GatedFeedForwardFollowsItsEquation) {
  const FeedForward gated(Scope(weights_) / "f",
                          {.model = kWidth, .inner = 6, .activation = Activation::silu, .gating = Gating::gated});
  start();
  Pass pass = infer();
  const Var x = random_rows(3, 1);
  const Var both = linear(pass, x, layer("f.inner"));
  Tensor product({3, 6}, DType::f64);
  for (int64_t r = 0; r < 3; ++r) {
    for (int64_t c = 0; c < 6; ++c) {
      const double g = get(both.value(), r, c);
      set(product.view(), r, c, g / (1.0 + std::exp(-g)) * get(both.value(), r, 6 + c));
    }
  }
  const Var expected = linear(pass, make_var(*backend_, product.view()), layer("f.output"));
  expect_near(gated(pass, x).value(), expected.value(), 1e-12);
}

// ---- maps ----

TEST_F(Layers, MapsSumToOneAndCausalOnesAreZeroAboveTheDiagonal) {
  StackShape shape = small_stack(2);
  shape.attention.visibility = Visibility::causal();
  const Decoder decoder(Scope(weights_) / "d", shape);
  start();
  Pass pass = infer();
  const Sequences source{{{1, 2, 3, 4}, {5}}};
  AttentionMaps maps;
  decoder(pass, random_rows(5, 1), sequences_, {Hidden(random_rows(5, 2)), &source.segments()}, {.maps = &maps});
  ASSERT_EQ(maps.self.size(), 2U);
  ASSERT_EQ(maps.cross.size(), 2U);
  const auto check = [&](const Tensor& map, const Segments& keys, bool causal) {
    const double* at = map.data<double>();
    for (int64_t s = 0; s < 2; ++s) {
      for (int64_t row = 0; row < 2 * sequences_.segments().length(s); ++row) {
        const int64_t query = row % sequences_.segments().length(s);
        double total = 0.0;
        for (int64_t key = 0; key < keys.length(s); ++key) {
          EXPECT_TRUE(!causal || key <= query || at[key] == 0.0);
          EXPECT_GE(at[key], 0.0);
          total += at[key];
        }
        EXPECT_NEAR(total, 1.0, 1e-14);
        at += keys.length(s);
      }
    }
    EXPECT_EQ(at, map.data<double>() + map.elements());
  };
  for (size_t layer = 0; layer < 2; ++layer) {
    check(maps.self[layer], sequences_.segments(), true);
    check(maps.cross[layer], source.segments(), false);
  }
}

// ---- ragged and padded ----

// The same sequences as one rectangle, with a mask that hides the padding: real rows are the same.
TEST_F(Layers, RaggedAndPaddedAgreeOnEveryRealRow) {
  const SelfAttentionStack encoder(Scope(weights_) / "e", small_stack(2));
  start();
  Pass pass = infer();
  constexpr int64_t kMaxLength = 4;
  const Sequences ragged{{{1, 2, 3}, {4}, {5, 6, 7, 8}}};
  const Sequences padded{{{1, 2, 3, 0}, {4, 0, 0, 0}, {5, 6, 7, 8}}};
  const Tensor rectangle = random_tensor({3 * kMaxLength, kWidth}, 1);
  Tensor rows({8, kWidth}, DType::f64);
  for (int64_t s = 0; s < 3; ++s) {
    const int64_t length = ragged.segments().length(s);
    backend_->copy(rectangle.view().row_range(s * kMaxLength, length),
                   rows.view().row_range(ragged.segments().begin(s), length));
  }
  const AttentionMask mask = padding_mask(padded.segments(), padded.segments(), {3, 1, 4});
  const Hidden a = encoder(pass, make_var(*backend_, rows.view()), ragged);
  const Hidden b = encoder(pass, make_var(*backend_, rectangle.view()), padded, {.self_mask = SelfMask(mask)});
  for (int64_t s = 0; s < 3; ++s) {
    const int64_t length = ragged.segments().length(s);
    expect_near(a.var().value().row_range(ragged.segments().begin(s), length),
                b.var().value().row_range(s * kMaxLength, length), 1e-12);
  }
}

TEST(Sequences, WithoutPaddingKeepsTheRealTokensAndTheirPositions) {
  const Sequences s = Sequences::without_padding({7, 8, 0, 9, 0, 0, 1, 2, 3}, 3, {2, 1, 3});
  EXPECT_THAT(s.tokens().ids(), ::testing::ElementsAre(7, 8, 9, 1, 2, 3));
  EXPECT_THAT(s.positions(), ::testing::ElementsAre(0, 1, 0, 0, 1, 2));
  EXPECT_EQ(s.segments().count(), 3);
  EXPECT_EQ(s.segments().max_length(), 3);
  EXPECT_EQ(Sequences::without_padding({}, 3, {}).rows(), 0);
}

TEST(Sequences, WithoutPaddingRefusesInconsistentSizes) {
  expect_error<ShapeError>(
      [] {
        Sequences::without_padding({1, 2, 3}, 2, {1, 1});
      },
      {"padded batch: ", "3 tokens for 2 rows of 2"});
  expect_error<ShapeError>(
      [] {
        Sequences::without_padding({1, 2}, 2, {3});
      },
      {"padded batch: ", "row 0: 3 real tokens of 2"});
  expect_error<ShapeError>([] { Sequences::without_padding({1, 2}, 2, {-1}); }, {"row 0: -1 real tokens"});
}

TEST(Embedding, ASequenceLongerThanItsPositionsNamesBoth) {
  const auto backend = make_reference_backend();
  Weights weights;
  const Embedding embedding(Scope(weights),
                            {.vocabulary = 5, .model = 4, .positions = Positions::learned, .max_length = 2});
  const Embedding unlimited(Scope(weights) / "u",
                            {.vocabulary = 5, .model = 4, .positions = Positions::none, .max_length = 2});
  Trainables trainables(*backend, weights, DType::f64, Trainables::Gradients::none);
  trainables.initialize(*backend, 1);
  Pass pass = Pass::infer(*backend, DType::f64);
  const Sequences three{{{1, 2, 3}}};
  expect_error<ShapeError>([&] { embedding(pass, three); }, {"embedding: ", "3 tokens", "positions for 2"});
  EXPECT_EQ(unlimited(pass, three).rows(), 3);
}

}  // namespace
}  // namespace heed::test
