#include "kernels/op_cases.h"
#include "kernels/reference/finite_differences.h"
#include "kernels/reference/reference_backend.h"

namespace heed::test {
namespace {

TEST(ReferenceEmbedding, BackwardAddsTheGradient) {
  ReferenceBackend backend;
  for (const float p : {0.0F, 0.3F}) {
    // 12 rows of 5 tokens: some occur more than once, so that their gradients meet.
    EmbeddingCase c = EmbeddingCase::make(kReferenceTypes, 12, 5, 4);
    c.dropout = dropout_of(p);
    const auto objective = [&] { return dot(c.forward(backend, kReferenceTypes), c.d_y); };
    const auto d = c.backward(backend, kReferenceTypes);
    EXPECT_TRUE(is_gradient(d.d_table, c.table, objective, c.table));
    EXPECT_TRUE(is_gradient(d.d_positions, c.positions, objective, c.positions));
  }
}

TEST(ReferenceEmbedding, PositionsAndTypesMayBeAbsent) {
  ReferenceBackend backend;
  EmbeddingCase c = EmbeddingCase::make(kReferenceTypes, 6, 5, 4);
  c.positions = {};
  c.position_rows = {};
  c.token_types = {};
  c.type_rows = {};
  const Guarded y = c.forward(backend, kReferenceTypes);
  for (int64_t r = 0; r < 6; ++r) {
    EXPECT_EQ(y.get(r, 3), c.scale * c.table.get(static_cast<int64_t>(c.tokens.get(0, r)), 3));
  }
  const auto objective = [&] { return dot(c.forward(backend, kReferenceTypes), c.d_y); };
  EXPECT_TRUE(is_gradient(c.backward(backend, kReferenceTypes).d_table, c.table, objective, c.table));
}

TEST(ReferenceSelectRows, BackwardIsTheGradient) {
  ReferenceBackend backend;
  const SelectRowsCase c{
      .x = random(DType::f64, 4, 3, 30), .rows = integers({3, 0, 3, 2, 3}), .d_y = random(DType::f64, 5, 3, 32)};
  const auto objective = [&] { return dot(c.forward(backend, kReferenceTypes), c.d_y); };
  EXPECT_TRUE(is_gradient(c.backward(backend, kReferenceTypes), c.x, objective));
  EXPECT_TRUE(is_gradient(c.backward(backend, kReferenceTypes, Write::add), c.x, objective, clone(c.x)));
}

// The objective of add_norm under both upstream gradients, either of which may be absent.
double objective_of(const AddNormCase& c, Backend& backend) {
  const auto result = c.forward(backend, kReferenceTypes);
  const Guarded& sum = c.branch.empty() ? c.residual : result.sum;
  return (c.d_normed.empty() ? 0.0 : dot(result.normed, c.d_normed)) + (c.d_sum.empty() ? 0.0 : dot(sum, c.d_sum));
}

TEST(ReferenceAddNorm, BackwardIsTheGradientForEveryOption) {
  ReferenceBackend backend;
  for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
    for (const bool with_branch : {true, false}) {
      for (const float p : {0.0F, 0.3F}) {
        for (const Write write : {Write::overwrite, Write::add}) {
          SCOPED_TRACE(fmt::format("kind {}, branch {}, dropout {}, write {}", static_cast<int>(kind), with_branch, p,
                                   static_cast<int>(write)));
          AddNormCase c = AddNormCase::make(kReferenceTypes, kind, 4, 6);
          c.dropout = with_branch ? dropout_of(p) : Dropout::none();
          if (!with_branch) {
            c.branch = {};
          }
          const auto objective = [&] { return objective_of(c, backend); };
          const auto d = c.backward(backend, c.forward(backend, kReferenceTypes), kReferenceTypes, write);
          const Guarded before = write == Write::add ? clone(c.residual) : Guarded();
          EXPECT_TRUE(is_gradient(d.d_residual, c.residual, objective, before));
          if (with_branch) {
            EXPECT_TRUE(is_gradient(d.d_branch, c.branch, objective));
          }
          EXPECT_TRUE(is_gradient(d.d_gain, c.gain, objective, clone(c.gain)));
          if (kind == NormKind::layer) {
            EXPECT_TRUE(is_gradient(d.d_bias, c.bias, objective, clone(c.bias)));
          }
        }
      }
    }
  }
}

TEST(ReferenceAddNorm, BackwardIsTheGradientOfEachGroup) {
  ReferenceBackend backend;
  for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
    const AddNormCase c = AddNormCase::of_groups(kReferenceTypes, kind, 4, 3, 5);
    const auto objective = [&] { return objective_of(c, backend); };
    const auto saved = c.forward(backend, kReferenceTypes);
    const auto d = c.backward(backend, saved, kReferenceTypes);
    EXPECT_TRUE(is_gradient(d.d_residual, c.residual, objective));
    EXPECT_TRUE(is_gradient(d.d_gain, c.gain, objective, clone(c.gain)));
    if (kind == NormKind::layer) {
      EXPECT_TRUE(is_gradient(d.d_bias, c.bias, objective, clone(c.bias)));
    }
    // The second group, written out.
    double squares = 0.0;
    for (int64_t column = 5; column < 10; ++column) {
      squares += c.residual.get(1, column) * c.residual.get(1, column) / 5.0;
    }
    if (kind == NormKind::rms) {
      EXPECT_NEAR(saved.normed.get(1, 6), c.residual.get(1, 6) / std::sqrt(squares + c.epsilon) * c.gain.get(0, 1),
                  1e-12);
    }
  }
}

TEST(ReferenceAddNorm, EitherUpstreamGradientMayBeAbsent) {
  ReferenceBackend backend;
  for (const bool normed : {true, false}) {
    AddNormCase c = AddNormCase::make(kReferenceTypes, NormKind::layer, 3, 5);
    (normed ? c.d_sum : c.d_normed) = {};
    const auto objective = [&] { return objective_of(c, backend); };
    const auto d = c.backward(backend, c.forward(backend, kReferenceTypes), kReferenceTypes);
    EXPECT_TRUE(is_gradient(d.d_residual, c.residual, objective));
    EXPECT_TRUE(is_gradient(d.d_branch, c.branch, objective));
  }
}

TEST(ReferenceAddNorm, ResidualGradientMayOverwriteTheSums) {
  ReferenceBackend backend;
  const AddNormCase c = AddNormCase::make(kReferenceTypes, NormKind::layer, 3, 5);
  const auto saved = c.forward(backend, kReferenceTypes);
  const auto expected = c.backward(backend, saved, kReferenceTypes);
  const Guarded shared = clone(c.d_sum);
  const Guarded d_branch(DType::f64, 3, 5);
  backend.add_norm_backward({.kind = c.kind,
                             .sum = saved.sum.view(),
                             .statistics = saved.statistics.view(),
                             .gain = c.gain.view(),
                             .d_normed = c.d_normed.view(),
                             .d_sum = shared.view(),
                             .d_residual = shared.view(),
                             .d_branch = d_branch.view()});
  EXPECT_TRUE(same_bits(shared, expected.d_residual));
  EXPECT_TRUE(same_bits(d_branch, expected.d_branch));
}

TEST(ReferenceAddNorm, StatisticsAreMeanAndInverseDeviation) {
  ReferenceBackend backend;
  AddNormCase c = AddNormCase::make(kReferenceTypes, NormKind::layer, 1, 4);
  c.branch = {};
  c.epsilon = 0.0;
  for (int64_t i = 0; i < 4; ++i) {
    c.residual.set(0, i, i < 2 ? 1.0 : 5.0);
    c.gain.set(0, i, 2.0);
    c.bias.set(0, i, 0.5);
  }
  const auto layer = c.forward(backend, kReferenceTypes);
  EXPECT_EQ(layer.statistics.get(0, 0), 3.0);
  EXPECT_EQ(layer.statistics.get(0, 1), 0.5);
  EXPECT_EQ(layer.normed.get(0, 0), -1.5);
  EXPECT_EQ(layer.normed.get(0, 3), 2.5);
  c.kind = NormKind::rms;
  const auto rms = c.forward(backend, kReferenceTypes);
  EXPECT_EQ(rms.statistics.get(0, 0), 0.0);
  EXPECT_DOUBLE_EQ(rms.statistics.get(0, 1), 1.0 / std::sqrt(13.0));
}

}  // namespace
}  // namespace heed::test
