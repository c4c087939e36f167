#include <gtest/gtest.h>

#include "data/corpus/lexical_table_testing.h"

namespace heed {
namespace {

using LexicalTableThreads = LexicalTable;

TEST_F(LexicalTableThreads, IsTheSameOnAnyNumberOfThreads) {
  const ToyText text(2000);
  const LexicalRules rules{.best = 7, .frequent = 5};
  const ShortlistTable expected = learn(text.source, text.target, rules);
  for (const int threads : {2, 3}) {
    const ShortlistTable table = learn(text.source, text.target, rules, threads);
    EXPECT_EQ(table.targets, expected.targets);
    EXPECT_EQ(table.ends, expected.ends);
    EXPECT_EQ(table.frequent, expected.frequent);
  }
}

}  // namespace
}  // namespace heed
