#include "data/corpus/lexical_table.h"

#include <gmock/gmock.h>

#include "data/corpus/lexical_table_testing.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(LexicalTable, FindsTheAlignmentsOfAToyText) {
  const ToyText text;
  const ShortlistTable table = learn(text.source, text.target, {.best = 1, .frequent = 3});
  ASSERT_EQ(table.ends.size(), 3000U);
  for (size_t word = 1; word <= 40; ++word) {
    EXPECT_THAT(targets_of(table, word), ElementsAre(500 + static_cast<int32_t>(word)));
  }
  EXPECT_THAT(targets_of(table, 41), IsEmpty());
  ASSERT_EQ(table.frequent.size(), 3U);
  EXPECT_EQ(table.frequent.front(), 900);
}

// What the first pair leaves open the second decides: 1 is 11, so 2 is 12, though both are seen as often beside it.
TEST_F(LexicalTable, OnePairExplainsAnother) {
  const ShortlistTable table = learn("1 2\n1\n", "11 12\n11\n", {.best = 2, .frequent = 0});
  EXPECT_THAT(targets_of(table, 1), ElementsAre(11, 12));
  EXPECT_THAT(targets_of(table, 2), ElementsAre(12, 11));
  EXPECT_THAT(table.frequent, IsEmpty());
}

// What every line has comes from nothing.
TEST_F(LexicalTable, TheEmptyWordExplainsWhatComesFromNothing) {
  const ShortlistTable table = learn("1\n2\n4\n", "3 11\n3 12\n3 14\n", {.best = 1, .frequent = 0});
  EXPECT_THAT(targets_of(table, 1), ElementsAre(11));
  EXPECT_THAT(targets_of(table, 2), ElementsAre(12));
  EXPECT_THAT(targets_of(table, 4), ElementsAre(14));
}

TEST_F(LexicalTable, InATieTheSmallerTokenIsFirst) {
  const ShortlistTable table = learn("1\n", "13 11 12\n", {.best = 1000, .frequent = 10});
  EXPECT_THAT(targets_of(table, 1), ElementsAre(11, 12, 13));
  EXPECT_THAT(table.frequent, ElementsAre(11, 12, 13));
}

// A source token that is seen beside more than a thousand keeps those that it is seen beside most often. Another source
// token's targets are not among them.
TEST_F(LexicalTable, KeepsTheLikeliestOfMany) {
  std::string source = "1\n", target = "2800\n";
  for (int line = 0; line < 5; ++line) {
    source += "2\n";
    for (int word = 0; word < 400; ++word) {
      target += fmt::format("{} ", 100 + 400 * line + word);
    }
    target += line < 3 ? "\n" : line < 4 ? "2900\n" : "2900 2800\n";
  }
  const std::vector<int32_t> targets = targets_of(learn(source, target, {.best = 1000, .frequent = 0}), 2);
  EXPECT_EQ(targets.size(), 1000U);
  EXPECT_EQ(targets.front(), 2900);
}

// Sums are made for many sentences at a time: a long text has several such parts.
TEST_F(LexicalTable, OnePairExplainsAnotherInEveryPartOfALongText) {
  std::string source, target;
  for (int line = 0; line < 1100; ++line) {
    source += fmt::format("{0} {1}\n{0}\n", 2 * line + 1, 2 * line + 2);
    target += fmt::format("{0} {1}\n{0}\n", 2 * line + 701, 2 * line + 702);
  }
  const ShortlistTable table = learn(source, target, {.best = 2, .frequent = 0});
  for (size_t line = 0; line < 1100; ++line) {
    const auto word = static_cast<int32_t>(2 * line + 701);
    EXPECT_THAT(targets_of(table, 2 * line + 1), ElementsAre(word, word + 1));
    EXPECT_THAT(targets_of(table, 2 * line + 2), ElementsAre(word + 1, word));
  }
}

TEST_F(LexicalTable, RefusesRulesOutOfRangeAndTextsThatAreNotParallel) {
  const auto refusal = [&](const LexicalRules& rules) {
    return message_of<ConfigError>([&] { learn("1\n", "2\n", rules); });
  };
  EXPECT_THAT(refusal({.best = 0}), HasSubstr("expected 1 to 1000"));
  EXPECT_THAT(refusal({.best = 1000}), IsEmpty());
  EXPECT_THAT(refusal({.best = 1001}), HasSubstr("expected 1 to 1000"));
  EXPECT_THAT(refusal({.frequent = -1}), HasSubstr("expected 0 or more"));
  EXPECT_THAT(message_of<FormatError>([&] { learn("1\n2\n", "2\n", {}); }), HasSubstr("has 1 lines, but"));
}

}  // namespace
}  // namespace heed
