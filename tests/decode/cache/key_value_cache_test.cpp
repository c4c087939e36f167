#include "decode/cache/key_value_cache.h"

#include <gtest/gtest.h>

#include "kernels/cpu/cpu_backend.h"

namespace heed {
namespace {

constexpr int64_t kPageTokens = 16;

class Cache : public testing::Test {
 protected:
  explicit Cache(const CacheShape& shape = {.layers = 2, .width = 4})
      : pool_(*backend_, DType::f32, shape), cache_(*backend_, pool_, shape) {}

  // Writes `value` as the key of the newest token of each sequence.
  void append(const std::vector<SequenceId>& sequences, const std::vector<float>& values) {
    std::vector<Extension> extensions;
    for (const SequenceId sequence : sequences) {
      extensions.push_back({sequence, 1});
    }
    const KeyValueView view = cache_.extend(extensions).front();
    for (size_t s = 0; s < values.size(); ++s) {
      const auto number = static_cast<int64_t>(s);
      host<float>(view.keys)(view.row(number, view.segments->length(number) - 1), 0) = values[s];
    }
  }
  void append(SequenceId sequence, float value) { append(std::vector{sequence}, {value}); }
  void append_counting(SequenceId sequence, int tokens) {
    for (int token = 0; token < tokens; ++token) {
      append(sequence, static_cast<float>(cache_.length(sequence)));
    }
  }

  std::vector<float> keys(SequenceId sequence, int64_t first = 0) {
    const KeyValueView view = cache_.view({&sequence, 1}).front();
    std::vector<float> found;
    for (int64_t token = first; token < view.segments->length(0); ++token) {
      found.push_back(host<float>(view.keys)(view.row(0, token), 0));
    }
    return found;
  }
  static std::vector<float> counting(int first, int last) {
    std::vector<float> values;
    for (int value = first; value < last; ++value) {
      values.push_back(static_cast<float>(value));
    }
    return values;
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend(1);
  PagePool pool_;
  KeyValueCache cache_;
};

TEST(CacheOfLayersThatDiffer, EachLayerHasItsOwnWidthAndScales) {
  const std::unique_ptr<Backend> backend = make_cpu_backend(1);
  const CacheShape shape{.layers = 2, .width = 8, .value_width = 12, .heads = 4, .heads_of_layers = {1, 4}};
  PagePool pool(*backend, DType::i8, shape);
  KeyValueCache cache(*backend, pool, shape);
  const SequenceId sequence = cache.add();
  const Extension one{sequence, 1};
  const std::vector<KeyValueView>& views = cache.extend({&one, 1});
  EXPECT_EQ(views[0].keys.columns(), 2);
  EXPECT_EQ(views[0].values.columns(), 3);
  EXPECT_EQ(views[0].scales.keys.columns(), 1);
  EXPECT_EQ(views[1].keys.columns(), 8);
  EXPECT_EQ(views[1].values.columns(), 12);
  EXPECT_EQ(views[1].scales.values.columns(), 4);
}

TEST_F(Cache, ForksSharePagesUntilOneWrites) {
  const SequenceId a = cache_.add();
  append(a, 1);
  append(a, 2);
  const SequenceId b = cache_.fork(a), c = cache_.fork(a);
  EXPECT_EQ(cache_.pages_in_use(), 1);
  append({a, b, c}, {3, 4, 5});
  EXPECT_EQ(cache_.pages_in_use(), 3);
  EXPECT_EQ(keys(a), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(keys(b), (std::vector<float>{1, 2, 4}));
  EXPECT_EQ(keys(c), (std::vector<float>{1, 2, 5}));
}

TEST_F(Cache, SequencesJoinAndLeaveAndKeepTheirIds) {
  const SequenceId a = cache_.add(), b = cache_.add(), c = cache_.add();
  append({a, b, c}, {1, 2, 3});
  cache_.remove(b);
  const SequenceId d = cache_.add();
  append({d, c, a}, {4, 5, 6});
  EXPECT_EQ(keys(a), (std::vector<float>{1, 6}));
  EXPECT_EQ(keys(c), (std::vector<float>{3, 5}));
  EXPECT_EQ(keys(d), (std::vector<float>{4}));
  EXPECT_EQ(cache_.count(), 3);
  EXPECT_THROW(cache_.length(b), ShapeError);
  for (const SequenceId sequence : {a, c, d}) {
    cache_.remove(sequence);
  }
  EXPECT_EQ(cache_.pages_in_use(), 0);
}

TEST_F(Cache, SequencesRollBack) {
  const SequenceId a = cache_.add();
  append_counting(a, 40);
  EXPECT_EQ(cache_.pages_in_use(), 3);
  cache_.roll_back(a, 17);
  EXPECT_EQ(cache_.pages_in_use(), 2);
  append(a, 99);
  std::vector<float> expected = counting(0, 17);
  expected.push_back(99);
  EXPECT_EQ(keys(a), expected);
  EXPECT_THROW(cache_.roll_back(a, 19), ShapeError);
}

TEST_F(Cache, GrowsOnDemand) {
  const SequenceId a = cache_.add();
  append_counting(a, 3000);
  EXPECT_EQ(keys(a), counting(0, 3000));
}

class CacheWithBudget : public Cache {
 protected:
  CacheWithBudget() : Cache({.layers = 1, .width = 4, .max_tokens = 4 * kPageTokens}) {}
};

TEST_F(CacheWithBudget, ExceedingTheBudgetIsAnErrorThatChangesNothing) {
  const SequenceId a = cache_.add(), b = cache_.add();
  append_counting(a, 40);
  append_counting(b, 16);
  const std::vector<Extension> too_much{{a, 9}, {b, 1}};
  try {
    cache_.extend(too_much);
    FAIL() << "there are no pages left";
  } catch (const BudgetError& error) {
    EXPECT_STREQ(error.what(),
                 "cache: 10 more tokens need 2 pages of 16 tokens, but 4 of the budget's 4 are taken by 2 sequences");
  }
  EXPECT_EQ(cache_.length(a), 40);
  EXPECT_EQ(keys(a), counting(0, 40));
  append_counting(a, 8);
  cache_.remove(b);
  append_counting(a, 16);
  EXPECT_EQ(keys(a), counting(0, 64));
  EXPECT_THROW(append(a, 0), BudgetError);
}

TEST_F(CacheWithBudget, CopiesOfSharedPagesAreCounted) {
  const SequenceId a = cache_.add();
  append_counting(a, 17);
  // Two pages, one of them written to by all of three: two copies fit.
  const SequenceId b = cache_.fork(a), c = cache_.fork(a);
  append({a, b, c}, {1, 2, 3});
  EXPECT_EQ(cache_.pages_in_use(), 4);
  const SequenceId d = cache_.fork(c);
  EXPECT_THROW(append({c, d}, {4, 5}), BudgetError);
  EXPECT_EQ(keys(d, 17), (std::vector<float>{3}));
}

TEST(CacheOfSmallPages, ForksShareWholePages) {
  const auto backend = make_cpu_backend(1);
  const CacheShape shape{.layers = 2, .width = 4, .page_tokens = 4};
  PagePool pool(*backend, DType::f32, shape);
  KeyValueCache cache(*backend, pool, shape);
  const Extension first{cache.add(), 10};
  cache.extend({&first, 1});
  EXPECT_EQ(pool.in_use(), 3);
  const Extension both[] = {{first.sequence, 1}, {cache.fork(first.sequence), 3}};
  const KeyValueView view = cache.extend(both).front();
  EXPECT_EQ(pool.in_use(), 2 + 1 + 2);
  EXPECT_EQ(view.row(0, 7), view.row(1, 7));
  EXPECT_NE(view.row(0, 8), view.row(1, 8));
}

TEST_F(Cache, CachesOfOnePoolReuseEachOthersPages) {
  KeyValueCache other(*backend_, pool_, {.layers = 2, .width = 4});
  for (float value = 0; value < 50; ++value) {
    const SequenceId a = cache_.add();
    append(a, value);
    const SequenceId b = other.add();
    const Extension more{b, 2 * kPageTokens};
    const KeyValueView view = other.extend({&more, 1}).front();
    host<float>(view.keys)(view.row(0, kPageTokens), 0) = -1;
    EXPECT_EQ(pool_.in_use(), 3);
    EXPECT_EQ(cache_.pages_in_use(), 1);
    EXPECT_EQ(other.pages_in_use(), 2);
    EXPECT_EQ(keys(a), (std::vector<float>{value}));
    cache_.remove(a);
    other.remove(b);
  }
}

TEST_F(Cache, ACacheThatEndsReturnsItsPages) {
  {
    KeyValueCache other(*backend_, pool_, {.layers = 2, .width = 4});
    const Extension more{other.add(), 2 * kPageTokens};
    other.extend({&more, 1});
    other.fork(more.sequence);
    EXPECT_EQ(pool_.in_use(), 2);
  }
  EXPECT_EQ(pool_.in_use(), 0);
}

class LocalCache : public Cache {
 protected:
  LocalCache() : Cache({.layers = 1, .width = 4, .window = 20, .max_tokens = 3 * kPageTokens}) {}
};

TEST_F(LocalCache, PagesOutOfSightAreFreed) {
  const SequenceId a = cache_.add();
  append_counting(a, 1000);
  EXPECT_LE(cache_.pages_in_use(), 3);
  EXPECT_EQ(keys(a, 980), counting(980, 1000));
}

TEST(LocalCacheWithDrafts, TokensThatMayBeRolledBackStayReadable) {
  const auto backend = make_cpu_backend(1);
  for (const int64_t slack : {0, 40}) {
    const CacheShape shape{.layers = 1, .width = 4, .window = 20, .roll_back = slack};
    PagePool pool(*backend, DType::f32, shape);
    KeyValueCache cache(*backend, pool, shape);
    const SequenceId a = cache.add();
    for (int token = 0; token < 200; ++token) {
      const std::vector<Extension> one{{a, 1}};
      cache.extend(one);
    }
    if (slack == 0) {
      EXPECT_THROW(cache.roll_back(a, 160), ShapeError);
    } else {
      EXPECT_NO_THROW(cache.roll_back(a, 160));
      EXPECT_LE(cache.pages_in_use(), 6);
    }
  }
}

TEST_F(LocalCache, ASequenceRollsBackToBeforeItsLastExtension) {
  const SequenceId a = cache_.add();
  append_counting(a, 35);
  const std::vector<Extension> more{{a, 12}};
  cache_.extend(more);
  cache_.roll_back(a, 35);
  append_counting(a, 1);
  EXPECT_EQ(keys(a, 16), counting(16, 36));
  append_counting(a, 100);
  EXPECT_THROW(cache_.roll_back(a, 40), ShapeError);
  EXPECT_EQ(cache_.length(a), 136);
}

TEST_F(LocalCache, ForksShareWhatIsInSight) {
  const SequenceId a = cache_.add();
  append_counting(a, 40);
  const SequenceId b = cache_.fork(a);
  cache_.remove(a);
  append_counting(b, 30);
  EXPECT_EQ(keys(b, 50), counting(50, 70));
  cache_.remove(b);
  EXPECT_EQ(cache_.pages_in_use(), 0);
}

}  // namespace
}  // namespace heed
