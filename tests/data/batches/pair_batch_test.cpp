#include "data/batches/pair_batch.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>

#include "data/data_testing.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

class Pairs : public InFolder {
 protected:
  Corpus corpus(std::string_view source = "10 11 12\n13\n14 15\n", std::string_view target = "20\n21 22 23\n\n") const {
    ThreadPool pool(1);
    return read_corpus({{{put("s", source)}, encode_words, 100}, {{put("t", target)}, encode_words, 90, 0}}, {}, pool);
  }

  inline static const SentenceMarks kSpecial{TokenId(1), TokenId(2)};
  inline static const SentenceMarks kAroundSource{TokenId(1), TokenId(2), {4, 5}, {3}};
  inline static const SentenceMarks kBeforeTarget{TokenId(1), TokenId(2), {}, {3}, {7, 8}};
};

TEST_F(Pairs, HaveTargetsShiftedAgainstTheExpectedTokens) {
  const Corpus three = corpus();
  const PairBatch pairs = make_pairs(three, std::vector<int64_t>{2, 0, 1}, kSpecial);
  EXPECT_THAT(pairs.source.tokens().ids(), ElementsAre(14, 15, 10, 11, 12, 13));
  EXPECT_THAT(pairs.source.sequence(0), ElementsAre(14, 15));
  EXPECT_THAT(pairs.source.sequence(2), ElementsAre(13));
  EXPECT_THAT(pairs.target.tokens().ids(), ElementsAre(1, 1, 20, 1, 21, 22, 23));
  EXPECT_THAT(pairs.expected.ids(), ElementsAre(2, 20, 2, 21, 22, 23, 2));
  EXPECT_EQ(pairs.target.segments().count(), 3);
  EXPECT_THAT(pairs.target.sequence(0), ElementsAre(1));
  EXPECT_THAT(pairs.target.sequence(1), ElementsAre(1, 20));
  EXPECT_EQ(pairs.target.segments().max_length(), 4);
}

TEST_F(Pairs, MayHaveTokensAroundTheirSources) {
  const PairBatch pairs = make_pairs(corpus(), std::vector<int64_t>{1, 0}, kAroundSource);
  EXPECT_THAT(pairs.source.tokens().ids(), ElementsAre(4, 5, 13, 3, 4, 5, 10, 11, 12, 3));
  EXPECT_THAT(pairs.source.sequence(1), ElementsAre(4, 5, 10, 11, 12, 3));
}

TEST_F(Pairs, CanBeChangedByACallback) {
  const PairChanges changes{.source = {}, .target = [](int64_t sentence, std::vector<int32_t>& tokens) {
                              tokens.push_back(static_cast<int32_t>(50 + sentence));
                            }};
  const PairBatch pairs = make_pairs(corpus(), std::vector<int64_t>{1, 0}, kSpecial, changes);
  EXPECT_THAT(pairs.source.tokens().ids(), ElementsAre(13, 10, 11, 12));
  EXPECT_THAT(pairs.target.tokens().ids(), ElementsAre(1, 21, 22, 23, 51, 1, 20, 50));
  EXPECT_THAT(pairs.expected.ids(), ElementsAre(21, 22, 23, 51, 2, 20, 50, 2));
  EXPECT_EQ(pairs.target.segments().length(0), 5);
}

// In each row, what is expected is what the next row is fed: the shift by one, for any batch.
TEST_F(Pairs, ExpectTheNextInputToken) {
  const PairBatch pairs = make_pairs(corpus(), std::vector<int64_t>{0, 1, 2}, kSpecial);
  const Segments& segments = pairs.target.segments();
  ASSERT_EQ(segments.rows(), static_cast<int64_t>(pairs.expected.size()));
  for (int64_t s = 0; s < segments.count(); ++s) {
    EXPECT_EQ(pairs.target.sequence(s).front(), 1);
    for (int64_t row = segments.begin(s); row + 1 < segments.end(s); ++row) {
      EXPECT_EQ(pairs.expected.ids()[static_cast<size_t>(row)],
                pairs.target.tokens().ids()[static_cast<size_t>(row) + 1]);
    }
    EXPECT_EQ(pairs.expected.ids()[static_cast<size_t>(segments.end(s)) - 1], 2);
  }
}

TEST_F(Pairs, AreExpectedWithTheTokensBeforeTheirTargets) {
  const PairBatch plain = make_pairs(corpus(), std::vector<int64_t>{0}, kSpecial);
  const PairBatch pairs = make_pairs(corpus(), std::vector<int64_t>{0}, kBeforeTarget);
  std::vector<int32_t> expected{7, 8};
  std::ranges::copy(plain.expected.ids(), std::back_inserter(expected));
  EXPECT_THAT(pairs.expected.ids(), ElementsAreArray(expected));
  expected.insert(expected.begin(), 1);
  expected.pop_back();
  EXPECT_THAT(pairs.target.tokens().ids(), ElementsAreArray(expected));
}

TEST_F(Pairs, TakeThePredictedNumberOfRows) {
  const Corpus three = corpus();
  for (const SentenceMarks& special : {kSpecial, kAroundSource, kBeforeTarget}) {
    const SentenceLengths lengths = pair_lengths(three, special);
    for (int64_t s = 0; s < three.size(); ++s) {
      const PairBatch pairs = make_pairs(three, std::vector{s}, special);
      EXPECT_EQ(lengths(s).source, pairs.source.segments().rows());
      EXPECT_EQ(lengths(s).target, pairs.target.segments().rows());
    }
  }
}

TEST_F(Pairs, NameTheirOrigins) {
  const Corpus five = corpus("1\n\n2\n3\n4\n", "1\n\n2\n3\n4\n");
  const std::string folder = folder_.string() + "/";
  const auto place = [&](int line) { return fmt::format("{0}s:{1} | {0}t:{1}", folder, line); };
  EXPECT_EQ(describe_origins(five, std::vector<int64_t>{3}), place(5));
  EXPECT_EQ(describe_origins(five, std::vector<int64_t>{3, 0, 1, 2}),
            fmt::format("{}, {}, {} and 1 more", place(5), place(1), place(3)));
}

TEST_F(Pairs, RefuseSentenceMarksOutsideTheVocabulary) {
  const Corpus three = corpus();
  const auto refusal = [&](const SentenceMarks& special) {
    return message_of<ShapeError>([&] { make_pairs(three, std::vector<int64_t>{0}, special); });
  };
  EXPECT_EQ(refusal({TokenId(90), TokenId(2)}), "pairs: the beginning of a target is 90 in a vocabulary of 90");
  EXPECT_EQ(refusal({TokenId(1), TokenId(-1)}), "pairs: the end of a target is -1 in a vocabulary of 90");
  EXPECT_EQ(refusal({TokenId(1), TokenId(2), {}, {100}}), "pairs: the end of a source is 100 in a vocabulary of 100");
  EXPECT_EQ(refusal({TokenId(1), TokenId(2), {-1}, {}}),
            "pairs: the beginning of a source is -1 in a vocabulary of 100");
  EXPECT_EQ(refusal({TokenId(1), TokenId(2), {99}, {99}}), "");
  EXPECT_EQ(refusal({TokenId(1), TokenId(2), {}, {}, {90}}),
            "pairs: the beginning of a target is 90 in a vocabulary of 90");
}

TEST_F(Pairs, RefuseACorpusOfOneSide) {
  ThreadPool pool(1);
  const Corpus one = read_corpus({{{put("s", "1\n")}, encode_words, 100}}, {}, pool);
  EXPECT_EQ(message_of<ShapeError>([&] { make_pairs(one, std::vector<int64_t>{0}, kSpecial); }),
            "pairs: a corpus of 1 sides, expected 2");
}

}  // namespace
}  // namespace heed
