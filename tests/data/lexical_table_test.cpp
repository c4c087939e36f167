#include "data/lexical_table.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/random.h"
#include "data/data_testing.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LexicalTable : public InFolder {
 protected:
  ShortlistTable learn(const std::string& source, const std::string& target, const LexicalRules& rules,
                       int threads = 1) const {
    ThreadPool pool(threads);
    const auto side = [](const std::filesystem::path& file) {
      return CorpusSide{.files = {file}, .encode = encode_words, .vocabulary = 1000};
    };
    return learn_shortlist(read_corpus({side(put("s", source)), side(put_gzip("t.gz", target))}, {}, pool), rules,
                           pool);
  }

  static std::vector<int32_t> targets_of(const ShortlistTable& table, size_t token) {
    const int64_t begin = token == 0 ? 0 : table.ends[token - 1];
    return {table.targets.begin() + begin, table.targets.begin() + table.ends[token]};
  }
};

// Words 1 to 40 become 501 to 540, in another order, beside a word 900 that comes from nothing.
struct ToyText {
  std::string source, target;

  ToyText() {
    uint64_t draws = 0;
    for (int line = 0; line < 300; ++line) {
      std::vector<int> words;
      for (int i = 0; i < 5; ++i) {
        words.push_back(1 + static_cast<int>(uniform_draw(RandomKey{7}, draws++) * 40.0));
      }
      for (const int word : words) {
        source += fmt::format("{} ", word);
      }
      std::ranges::reverse(words);
      std::rotate(words.begin(), words.begin() + line % 5, words.end());
      target += "900 ";
      for (const int word : words) {
        target += fmt::format("{} ", 500 + word);
      }
      source += "\n";
      target += "\n";
    }
  }
};

TEST_F(LexicalTable, FindsTheAlignmentsOfAToyText) {
  const ToyText text;
  const ShortlistTable table = learn(text.source, text.target, {.best = 1, .frequent = 3});
  ASSERT_EQ(table.ends.size(), 1000U);
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

TEST_F(LexicalTable, IsTheSameOnAnyNumberOfThreads) {
  const ToyText text;
  const LexicalRules rules{.best = 7, .frequent = 5};
  const ShortlistTable expected = learn(text.source, text.target, rules);
  for (const int threads : {2, 3}) {
    const ShortlistTable table = learn(text.source, text.target, rules, threads);
    EXPECT_EQ(table.targets, expected.targets);
    EXPECT_EQ(table.ends, expected.ends);
    EXPECT_EQ(table.frequent, expected.frequent);
  }
}

TEST_F(LexicalTable, RefusesRulesOutOfRangeAndTextsThatAreNotParallel) {
  const auto refusal = [&](const LexicalRules& rules) {
    return message_of<ConfigError>([&] { learn("1\n", "2\n", rules); });
  };
  EXPECT_THAT(refusal({.best = 0}), HasSubstr("expected 1 to 1000"));
  EXPECT_THAT(refusal({.best = 1001}), HasSubstr("expected 1 to 1000"));
  EXPECT_THAT(refusal({.frequent = -1}), HasSubstr("expected 0 or more"));
  EXPECT_THAT(message_of<FormatError>([&] { learn("1\n2\n", "2\n", {}); }), HasSubstr("has 1 lines, but"));
}

}  // namespace
}  // namespace heed
