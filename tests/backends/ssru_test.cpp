#include "kernels/calls/ssru.h"

#include "backends/backend_test.h"

namespace heed::test {
namespace {

struct SsruCase {
  Segments segments;
  Guarded gates, candidates, bias, d_output;

  static SsruCase make(Types types, const std::vector<int64_t>& lengths, int64_t width) {
    const Segments segments(lengths);
    return {segments, random(types.storage, segments.rows(), width, 51, 2.0, {1, 3}),
            random(types.storage, segments.rows(), width, 52, 1.0, {2, 1}), random(types.master, 1, width, 53),
            random(types.storage, segments.rows(), width, 54)};
  }

  struct Result {
    Guarded output, cells, d_gates, d_candidates;
  };
  Result run(Backend& backend, Types types) const {
    const int64_t rows = gates.rows(), width = gates.columns();
    Result result{Guarded(types.storage, rows, width), Guarded(types.master, rows, width),
                  Guarded(types.storage, rows, width), Guarded(types.storage, rows, width)};
    backend.ssru({.gates = gates.view(),
                  .candidates = candidates.view(),
                  .bias = bias.view(),
                  .segments = &segments,
                  .output = result.output.view(),
                  .cells = result.cells.view()});
    backend.ssru_backward({.gates = gates.view(),
                           .candidates = candidates.view(),
                           .bias = bias.view(),
                           .segments = &segments,
                           .cells = result.cells.view(),
                           .d_output = d_output.view(),
                           .d_gates = result.d_gates.view(),
                           .d_candidates = result.d_candidates.view()});
    return result;
  }
};

class BackendSsru : public BackendTest {
 protected:
  void expect_same(const SsruCase& c) {
    const auto actual = c.run(backend(), types()), expected = c.run(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.output, expected.output, stored()));
    EXPECT_TRUE(close(actual.cells, expected.cells, stored()));
    EXPECT_TRUE(close(actual.d_gates, expected.d_gates, stored()));
    EXPECT_TRUE(close(actual.d_candidates, expected.d_candidates, stored()));
  }
};

TEST_P(BackendSsru, MatchesTheReference) {
  for (const int64_t columns : sizes({.cpu = kColumns, .cuda = {1, 31, 64, 65, 257}})) {
    SCOPED_TRACE(fmt::format("{} columns", columns));
    expect_same(SsruCase::make(types(), {3, 1, 7}, columns));
  }
  expect_same(SsruCase::make(types(), {100, 90}, 129));
}

TEST_P(BackendSsru, WithoutABiasMatchesTheReference) {
  SsruCase c = SsruCase::make(types(), {5, 2}, 33);
  c.bias = {};
  expect_same(c);
}

// Cells that are read from a cache, token by token, give the bits of a whole pass.
TEST_P(BackendSsru, GoesOnFromACache) {
  constexpr int64_t kTokens = 9, kWidth = 37;
  const SsruCase c = SsruCase::make(types(), {kTokens}, kWidth);
  const Guarded whole = c.run(backend(), types()).output;
  const Guarded keys(storage(), kTokens, kWidth), values(storage(), kTokens, kWidth);
  for (int64_t t = 0; t < kTokens; ++t) {
    const Segments one(std::vector<int64_t>{1}), known(std::vector<int64_t>{t + 1});
    const Guarded output(storage(), 1, kWidth);
    backend().ssru({.gates = c.gates.rows(t, 1).view(),
                    .candidates = c.candidates.rows(t, 1).view(),
                    .bias = c.bias.view(),
                    .segments = &one,
                    .memory = {.keys = keys.view(), .values = values.view(), .segments = &known, .table = {}},
                    .output = output.view(),
                    .cells = {}});
    EXPECT_TRUE(same_bits(output, whole.rows(t, 1))) << t;
  }
}

HEED_IN_EACH_SETTING(BackendSsru, any_call);

}  // namespace
}  // namespace heed::test
