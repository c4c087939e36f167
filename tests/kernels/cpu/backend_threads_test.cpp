// Every op gives the same bits again, and with any number of threads.
#include <functional>

#include "kernels/attention_case.h"
#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

class ThreadsCpu : public CpuTest {
 protected:
  // `run` gives all of an op's results.
  void expect_same_bits(const std::function<std::vector<Guarded>(Backend&)>& run) {
    const auto single = make(1);
    const std::vector<Guarded> expected = run(*single);
    for (const int threads : {1, 2, 3}) {
      const auto backend = make(threads);
      for (int round = 0; round < 3; ++round) {
        const std::vector<Guarded> results = run(*backend);
        ASSERT_EQ(results.size(), expected.size());
        for (size_t i = 0; i < results.size(); ++i) {
          EXPECT_TRUE(same_bits(results[i], expected[i]))
              << "result " << i << ", " << threads << " threads, round " << round;
        }
      }
    }
  }
};

TEST_P(ThreadsCpu, LinearHasTheSameBitsOnAnyNumberOfThreads) {
  for (const auto& [rows, in, out] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{
           {300, 257, 130}, {1, 600, 1000}, {1100, 40, 70}, {64, 1100, 513}}) {
    SCOPED_TRACE(fmt::format("{} rows, {} to {}", rows, in, out));
    LinearCase c = LinearCase::make(types(), rows, in, out);
    c.activation = Activation::gelu;
    c.dropout = dropout_of(0.25F);
    expect_same_bits([&](Backend& backend) -> std::vector<Guarded> {
      const auto y = c.forward(backend, types());
      const auto d = c.d_weight(backend, types());
      return {y.y, y.before, c.d_before(backend, y, types()), c.d_x(backend, types()), d.d_weight, d.d_bias};
    });
    const auto packed = cpu().pack_matrix(c.weight.view());
    c.packed = packed.get();
    expect_same_bits([&](Backend& backend) -> std::vector<Guarded> { return {c.forward(backend, types()).y}; });
  }
}

TEST_P(ThreadsCpu, EmbeddingHasTheSameBitsOnAnyNumberOfThreads) {
  EmbeddingCase c = EmbeddingCase::make(types(), 900, 30, 257);
  c.dropout = dropout_of(0.25F);
  expect_same_bits([&](Backend& backend) -> std::vector<Guarded> {
    const auto d = c.backward(backend, types());
    return {c.forward(backend, types()), d.d_table, d.d_positions};
  });
}

TEST_P(ThreadsCpu, AddNormHasTheSameBitsOnAnyNumberOfThreads) {
  for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
    AddNormCase c = AddNormCase::make(types(), kind, 700, 257);
    c.dropout = dropout_of(0.25F);
    expect_same_bits([&](Backend& backend) -> std::vector<Guarded> {
      const auto y = c.forward(backend, types());
      const auto d = c.backward(backend, y, types());
      return {y.sum, y.normed, y.statistics, d.d_residual, d.d_branch, d.d_gain, d.d_bias};
    });
  }
}

TEST_P(ThreadsCpu, GateHasTheSameBitsOnAnyNumberOfThreads) {
  GateCase c = GateCase::make(types(), Activation::silu, 500, 257);
  c.dropout = dropout_of(0.25F);
  expect_same_bits([&](Backend& backend) -> std::vector<Guarded> {
    return {c.forward(backend, types()), c.backward(backend, types())};
  });
}

TEST_P(ThreadsCpu, RotationHasTheSameBitsOnAnyNumberOfThreads) {
  const Guarded x = random(storage(), 700, 128, 41), positions = random_integers(700, 1000, 42);
  expect_same_bits([&](Backend& backend) -> std::vector<Guarded> {
    const Guarded y = clone(x);
    backend.rotate({.x = y.view(), .position_rows = positions.view(), .heads = 2, .dims = 64});
    return {y};
  });
}

TEST_P(ThreadsCpu, AttentionHasTheSameBitsOnAnyNumberOfThreads) {
  const AttentionShape ragged{.queries = {5, 300, 1, 17, 64, 65}, .keys = {5, 300, 1, 17, 64, 65}};
  AttentionCase dropped = AttentionCase::causal(
      types(), {.queries = ragged.queries, .keys = ragged.keys, .heads = 4, .key_value_heads = 2});
  dropped.settings.dropout = dropout_of(0.25F);
  const AttentionCase one_long = AttentionCase::make(types(), {.queries = {400}, .keys = {400}});
  const AttentionCase step = AttentionCase::causal(types(), {.queries = {1, 1, 1}, .keys = {300, 3, 40}});
  for (const AttentionCase& c : {AttentionCase::make(types(), ragged), dropped, one_long, step}) {
    expect_same_bits([&](Backend& backend) -> std::vector<Guarded> {
      const auto y = c.forward(backend, types());
      const auto d = c.backward(backend, y, types());
      return {y.output, y.log_sum_exp, d.d_queries, d.d_keys, d.d_values, c.weights(backend, types())};
    });
  }
}

TEST_P(ThreadsCpu, LossHasTheSameBitsOnAnyNumberOfThreads) {
  for (const int64_t rows : {1, 13, 300}) {
    SCOPED_TRACE(rows);
    const LossCase c = LossCase::make(types(), rows, 65, 1500);
    LossCase logits = c;
    logits.x = random(storage(), rows, 1500, 48, 3.0);
    expect_same_bits([&](Backend& backend) -> std::vector<Guarded> {
      const auto a = c.forward(backend, types()), b = logits.of_logits(backend, types());
      return {a.losses, a.d_logits, b.losses, b.d_logits, logits.log_probs(backend, types())};
    });
  }
}

TEST_P(ThreadsCpu, AdamAndElementsHaveTheSameBitsOnAnyNumberOfThreads) {
  const AdamCase c = AdamCase::make(types(), 200003);
  const Guarded x = random(storage(), 300, 257, 64), start = random(storage(), 300, 257, 65);
  expect_same_bits([&](Backend& backend) -> std::vector<Guarded> {
    const AdamCase own = c.cloned(types());
    own.step(backend);
    const Guarded norm(DType::f64, 1, 2), sum = clone(start), copy(DType::bf16, 300, 257);
    backend.squared_norms(own.gradients.view(), std::vector<ElementRange>{{0, 150'000}, {150'000, 50'003}},
                          norm.view());
    backend.add(x.view(), sum.view());
    backend.copy(x.view(), copy.view());
    return {own.weights, own.first_moments, own.second_moments, own.copy, norm, sum, copy};
  });
}

// How work is cut does not depend on the instruction set: the best one is enough.
INSTANTIATE_TEST_SUITE_P(Sets, ThreadsCpu,
                         ::testing::ValuesIn(settings_on(instruction_sets().front(), KernelsOf::products)),
                         name_of_setting);

}  // namespace
}  // namespace heed::test
