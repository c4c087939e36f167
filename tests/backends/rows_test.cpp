// Rows that are selected, and rows that are pooled.
#include "backends/backend_test.h"

namespace heed::test {
namespace {

class BackendSelectRows : public BackendTest {
 protected:
  void expect_same(const SelectRowsCase& c) {
    EXPECT_TRUE(same_bits(c.forward(backend(), types()), c.forward(reference(), types())));
    for (const Write write : {Write::overwrite, Write::add}) {
      EXPECT_TRUE(
          close(c.backward(backend(), types(), write), c.backward(reference(), kReferenceTypes, write), stored()));
    }
  }
};

TEST_P(BackendSelectRows, MatchesTheReference) {
  with_each_layout([&] {
    for (const int64_t columns : sizes(kRowLengths)) {
      SCOPED_TRACE(columns);
      expect_same(SelectRowsCase::make(types(), 13, columns));
    }
    for (const int64_t rows : sizes({.cpu = kRows, .cuda = {1, 8, 31, 32, 33, 100}})) {
      SCOPED_TRACE(rows);
      expect_same(SelectRowsCase::make(types(), rows, 33));
    }
  });
}

TEST_P(BackendSelectRows, RepeatedRowsAreRoundedOnce) {
  SelectRowsCase c = SelectRowsCase::make(types(), 100, 17);
  c.rows = integers(std::vector<int64_t>(100, 2));
  const Guarded d_x = c.backward(backend(), types());
  EXPECT_TRUE(close(d_x, c.backward(reference(), kReferenceTypes), stored()));
  EXPECT_EQ(d_x.get(1, 0), 0.0);
}

TEST_P(BackendSelectRows, GradientsAreTheSameBitsOnAnyNumberOfThreads) {
  const SelectRowsCase c = SelectRowsCase::make(types(), here(900, 90), 257);
  const Guarded expected = c.backward(*make(1), types(), Write::add);
  for (const int threads : {2, 3}) {
    EXPECT_TRUE(same_bits(c.backward(*make(threads), types(), Write::add), expected));
  }
}

HEED_IN_EACH_SETTING(BackendSelectRows, any_call);

class BackendPool : public BackendTest {
 protected:
  void expect_same(const PoolCase& c) {
    const auto actual = c.forward(backend(), types()), expected = c.forward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.y, expected.y, stored()));
    if (c.kind == Pooling::max) {
      EXPECT_TRUE(same_bits(actual.chosen, expected.chosen));
    }
    for (const Write write : {Write::overwrite, Write::add}) {
      EXPECT_TRUE(
          close(c.backward(backend(), types(), write), c.backward(reference(), kReferenceTypes, write), stored()));
    }
  }
};

TEST_P(BackendPool, MatchesTheReference) {
  with_each_layout([&] {
    for (const Pooling kind : {Pooling::mean, Pooling::max, Pooling::mean_sqrt_length}) {
      for (const int64_t columns : sizes(kRowLengths)) {
        SCOPED_TRACE(fmt::format("{} columns", columns));
        expect_same(PoolCase::make(types(), kind, sizes({.cpu = {3, 1, 7}, .cuda = {3, 1, 0, 0, 7}}), columns));
      }
      expect_same(PoolCase::make(types(), kind, {100}, 33));
    }
  });
}

TEST_P(BackendPool, TheFirstOfEqualRowsIsTheMaximum) {
  PoolCase c = PoolCase::make(types(), Pooling::max, {2, 3}, 5);
  for (int64_t r = 0; r < c.x.rows(); ++r) {
    c.x.set(r, 4, -1.0);
  }
  EXPECT_EQ(c.forward(backend(), types()).chosen.get(1, 4), 2.0);
  expect_same(c);
}

HEED_IN_EACH_SETTING(BackendPool, any_call);

}  // namespace
}  // namespace heed::test
