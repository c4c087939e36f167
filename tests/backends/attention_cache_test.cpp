// Keys and values that are kept in another type than that of queries.
#include "backends/backend_test.h"
#include "kernels/attention_case.h"

namespace heed::test {
namespace {

class BackendAttentionCache : public BackendTest {
 protected:
  AttentionCase make_case(const AttentionShape& shape) { return AttentionCase::make(types(), shape); }
  AttentionCase causal(const AttentionShape& shape) { return AttentionCase::causal(types(), shape); }

  std::vector<DType> cache_types() const {
    return storage() == DType::f32 ? std::vector{DType::bf16, DType::i8} : std::vector{DType::i8};
  }

  void expect_same(const AttentionCase& c) {
    const Tolerance rounding = storage() == DType::f32 ? kF32 : Tolerance{0.01, 0.01};
    for (const DType type : cache_types()) {
      SCOPED_TRACE(name_of(type));
      const AttentionCase cached = c.cached_in(backend(), type);
      const auto actual = cached.forward(backend(), types()), expected = cached.forward(reference(), kReferenceTypes);
      EXPECT_TRUE(close(actual.output, expected.output, rounding));
      EXPECT_TRUE(close(actual.log_sum_exp, expected.log_sum_exp, kF32));
      EXPECT_TRUE(close(cached.weights(backend(), types()), cached.weights(reference(), kReferenceTypes), rounding));
    }
  }
};

TEST_P(BackendAttentionCache, MatchesTheReference) {
  for (const int64_t width : sizes({.cpu = {1, 8, 17, 32, 64, 80}, .cuda = {1, 17, 64}})) {
    SCOPED_TRACE(width);
    const auto lengths = sizes({.cpu = {19, 3, 130}, .cuda = {19, 3}});
    expect_same(causal({.queries = lengths, .keys = lengths, .head_width = width}));
    expect_same(make_case({.queries = {1, 2, 0, 4}, .keys = {130, 7, 5, 64}, .head_width = width, .value_width = 24}));
  }
  AttentionCase grouped = make_case({.queries = {1, 9}, .keys = {70, 33}, .heads = 6, .key_value_heads = 2});
  expect_same(grouped);
  const AttentionMask mask = random_mask(grouped.query_segments, grouped.key_segments);
  grouped.settings.mask = &mask;
  expect_same(grouped);
  for (const Visibility& visibility :
       {Visibility::local(Visibility::Reach::causal, 11), Visibility::strided(Visibility::Reach::causal, 3)}) {
    AttentionCase c = causal({.queries = {1, here(40, 10)}, .keys = {90, here(150, 50)}});
    c.settings.visibility = visibility;
    c.settings.score_cap = 3.0;
    expect_same(c);
  }
}

// The root of the mean square of what rounding changed, over that of what there is.
double relative_error(const Guarded& found, const Guarded& exact) {
  double error = 0.0, signal = 0.0;
  for (int64_t r = 0; r < exact.rows(); ++r) {
    for (int64_t c = 0; c < exact.columns(); ++c) {
      error += std::pow(found.get(r, c) - exact.get(r, c), 2.0);
      signal += std::pow(exact.get(r, c), 2.0);
    }
  }
  return std::sqrt(error / signal);
}

TEST_P(BackendAttentionCache, IsCloseToWhatWasNotRounded) {
  const int64_t queries = here(70, 20);
  const AttentionCase c = causal({.queries = {queries, 1}, .keys = {queries, 130}, .head_width = 64});
  const Guarded exact = c.forward(reference(), kReferenceTypes).output;
  for (const DType type : cache_types()) {
    const Guarded found = c.cached_in(backend(), type).forward(backend(), types()).output;
    EXPECT_LT(relative_error(found, exact), type == DType::bf16 ? 0.005 : 0.015) << name_of(type);
  }
}

TEST_P(BackendAttentionCache, RowsAreRoundedAsTheReferenceDoes) {
  std::vector<AttentionCase> cases{make_case({.queries = {40, 3}, .keys = {40, 3}, .heads = 6, .key_value_heads = 3})};
  for (const int64_t width : {1, 17, 64}) {
    cases.push_back(make_case({.queries = {1, 2}, .keys = {130, 7}, .head_width = width, .value_width = 24}));
  }
  for (const AttentionCase& c : cases) {
    for (const DType type : cache_types()) {
      const AttentionCase actual = c.cached_in(backend(), type), expected = c.cached_in(reference(), type);
      EXPECT_TRUE(same_bits(actual.keys, expected.keys));
      EXPECT_TRUE(same_bits(actual.values, expected.values));
      EXPECT_TRUE(type != DType::i8 || same_bits(actual.key_scales, expected.key_scales));
      EXPECT_TRUE(type != DType::i8 || same_bits(actual.value_scales, expected.value_scales));
    }
  }
}

TEST_P(BackendAttentionCache, ASequenceHasTheSameBitsInAnyCompanyAndInAnyPages) {
  const AttentionCase c = causal({.queries = sizes({.cpu = {5, 1, 70, 3}, .cuda = {5, 1, 20}}),
                                  .keys = sizes({.cpu = {5, 130, 70, 33}, .cuda = {5, 130, 33}}),
                                  .heads = 4,
                                  .head_width = 32});
  for (const DType type : cache_types()) {
    SCOPED_TRACE(name_of(type));
    const Guarded all = c.cached_in(backend(), type).forward(backend(), types()).output;
    const ShuffledPages pages(c.key_segments, 16);
    EXPECT_TRUE(
        same_bits(c.cached_in(backend(), type, pages.table(), pages.rows).forward(backend(), types()).output, all));
    for (int64_t s = 0; s < c.query_segments.count(); ++s) {
      const Guarded alone = c.sequence(s).cached_in(backend(), type).forward(backend(), types()).output;
      EXPECT_TRUE(same_bits(alone, all.rows(c.query_segments.begin(s), c.query_segments.length(s)))) << s;
    }
  }
}

TEST_P(BackendAttentionCache, AStepHasTheBitsOfTheWholePass) {
  const int64_t queries = here(75, 20);
  for (const int64_t width : sizes({.cpu = {17, 32, 64}, .cuda = {17, 64}})) {
    const AttentionCase c = causal({.queries = {queries}, .keys = {here(140, 70)}, .head_width = width});
    for (const DType type : cache_types()) {
      const Guarded all = c.cached_in(backend(), type).forward(backend(), types()).output;
      for (const int64_t count : sizes({.cpu = {1, 3, 20}, .cuda = {3, 10}})) {
        for (int64_t first = 0; first + count <= queries; first += count) {
          const Guarded chunk = c.chunk(first, count).cached_in(backend(), type).forward(backend(), types()).output;
          ASSERT_TRUE(same_bits(chunk, all.rows(first, count))) << name_of(type) << " " << width << " " << first;
        }
      }
    }
  }
}

HEED_IN_EACH_SETTING(BackendAttentionCache, any_call);

}  // namespace
}  // namespace heed::test
