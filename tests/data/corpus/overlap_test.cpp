#include "data/corpus/overlap.h"

#include <gtest/gtest.h>

#include <vector>

namespace heed::test {
namespace {

using Lists = std::vector<std::vector<int32_t>>;

TEST(SequenceSearch, CountsEachSequenceThatOccursAsOftenAsItWasLookedFor) {
  SequenceSearch search;
  for (const auto& sequence : Lists{{1, 2, 3}, {4}, {1, 2, 3}, {3, 2, 1}, {1, 2}}) {
    search.look_for(sequence);
  }
  EXPECT_EQ(search.wanted(), 5);
  EXPECT_EQ(search.found(), 0);
  for (const auto& sequence : Lists{{1, 2, 3}, {1, 2, 3}, {}, {1}, {5, 4}}) {
    search.scan(sequence);
  }
  EXPECT_EQ(search.found(), 2) << "{1, 2, 3} twice, but not {4}, which is a part of another";
  search.scan(std::vector<int32_t>{4});
  EXPECT_EQ(search.found(), 3);
}

}  // namespace
}  // namespace heed::test
