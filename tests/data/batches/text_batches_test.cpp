#include "data/batches/text_batches.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "data/data_testing.h"
#include "text/tokenizer_testing.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int32_t kBegin = 2, kEnd = 3, kFirstByte = 5;

class Rows : public InFolder {
 protected:
  TextCorpus read(const std::string& text, Documents documents) {
    ThreadPool pool(1);
    return read_text_corpus({.files = {put("a", text)}, .documents = documents}, test::trained(TokenizerKind::byte),
                            pool);
  }
};

// Letters as they are, a document's begin as "<" and its end as ">", no expectation as "-".
std::string shown(std::span<const int32_t> ids) {
  std::string text;
  for (const int32_t id : ids) {
    text += id == kBegin ? '<' : id == kEnd ? '>' : id == Targets::kIgnored ? '-' : static_cast<char>(id - kFirstByte);
  }
  return text;
}

std::vector<std::string> segments_of(const TokenBatch& text) {
  std::vector<std::string> segments;
  for (int64_t s = 0; s < text.tokens.segments().count(); ++s) {
    segments.push_back(shown(text.tokens.sequence(s)));
  }
  return segments;
}

TEST_F(Rows, OfAStreamExpectTheNextToken) {
  const TextCorpus corpus = read("abcdefgh", Documents::none);
  const TextRows rows(corpus, DocumentBorders::kept);
  EXPECT_EQ(rows.size(), 7);
  const std::vector<RowRange> ranges{{0, 3}, {4, 7}};
  const TokenBatch text = rows.read(ranges);
  EXPECT_THAT(segments_of(text), ElementsAre("abc", "efg"));
  EXPECT_EQ(shown(text.expected.ids()), "bcdfgh");
  EXPECT_EQ(text.tokens.segments().first_row(), 0U);
  EXPECT_EQ(rows.read(ranges, 6).tokens.segments().first_row(), 6U);
}

TEST_F(Rows, OfDocumentsDoNotCrossTheirBorders) {
  const TextCorpus corpus = read("ab\nc\ndef\n", Documents::lines);
  const TextRows rows(corpus, DocumentBorders::kept);
  ASSERT_EQ(rows.size(), 9);  // <ab <c <def
  const TokenBatch all = rows.read(std::vector<RowRange>{{0, 9}});
  EXPECT_THAT(segments_of(all), ElementsAre("<ab", "<c", "<def"));
  EXPECT_EQ(shown(all.expected.ids()), "ab>c>def>");
  // Cut anywhere, the rows are the same.
  for (int64_t cut = 1; cut < 9; ++cut) {
    const TokenBatch both = rows.read(std::vector<RowRange>{{0, cut}, {cut, 9}});
    EXPECT_EQ(shown(both.tokens.tokens().ids()), shown(all.tokens.tokens().ids()));
    EXPECT_EQ(shown(both.expected.ids()), shown(all.expected.ids()));
    EXPECT_EQ(both.tokens.segments().count(), cut == 3 || cut == 5 ? 3 : 4);
  }
}

TEST_F(Rows, CrossBordersOnRequest) {
  const TextCorpus corpus = read("ab\nc\ndef\n", Documents::lines);
  const TextRows rows(corpus, DocumentBorders::crossed);
  ASSERT_EQ(rows.size(), 11);  // <ab><c><def, of which the last expects the last >
  const TokenBatch text = rows.read(std::vector<RowRange>{{1, 7}, {7, 11}});
  EXPECT_THAT(segments_of(text), ElementsAre("ab><c>", "<def"));
  EXPECT_EQ(shown(text.expected.ids()), "b>-c>-def>");
}

TEST_F(Rows, NameTheirOrigins) {
  const TextCorpus corpus = read("ab\n\nc\ndef\n", Documents::lines);
  const TextRows rows(corpus, DocumentBorders::kept);
  const std::string file = (folder_ / "a").string();
  EXPECT_EQ(rows.describe(std::vector<RowRange>{{0, 4}, {5, 9}}), file + ":1 to 3, " + file + ":4");
  const std::vector<RowRange> many(5, {0, 1});
  EXPECT_THAT(rows.describe(many), HasSubstr(" and 2 more"));
  EXPECT_EQ(rows.list(std::vector<RowRange>{{3, 5}, {0, 1}}), file + ":3\n" + file + ":1\n");
}

TEST(TextBatches, OfAPackedTextHaveEachRowOncePerEpochInANewOrder) {
  TextBatches batches(1003, {.context = 10, .sequences = 7}, 1, 2);
  ASSERT_EQ(batches.batches_per_epoch(), 15);
  EXPECT_EQ(batches.sequences_per_epoch(), 101);
  std::vector<std::vector<RowRange>> orders;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::set<int64_t> rows;
    orders.emplace_back();
    for (int64_t b = 0; b < 15; ++b) {
      EXPECT_EQ(batches.position().epoch, epoch);
      EXPECT_EQ(batches.position().batch, b);
      const std::vector<RowRange> batch = batches.next();
      EXPECT_EQ(batch.size(), b < 14 ? 7U : 3U);
      for (const RowRange& range : batch) {
        EXPECT_EQ(range.begin % 10, 0);
        for (int64_t row = range.begin; row < range.end; ++row) {
          EXPECT_TRUE(rows.insert(row).second) << row;
        }
        orders.back().push_back(range);
      }
    }
    EXPECT_EQ(rows.size(), 1003U);
    EXPECT_EQ(*rows.rbegin(), 1002);
  }
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(orders[1], orders[2]);
}

TEST(TextBatches, OfWindowsComeUniformlyFromTheWholeText) {
  constexpr int64_t kRows = 27, kContext = 8, kPlaces = 20, kDraws = 40'000;
  TextBatches batches(kRows, {.context = kContext, .sequences = 4, .order = TextOrder::windows}, 1, 2);
  EXPECT_EQ(batches.batches_per_epoch(), 1);
  EXPECT_EQ(batches.sequences_per_epoch(), 4);
  std::map<int64_t, int64_t> counts;
  for (int64_t i = 0; i < kDraws / 4; ++i) {
    for (const RowRange& range : batches.next()) {
      ASSERT_EQ(range.end - range.begin, kContext);
      ++counts[range.begin];
    }
  }
  EXPECT_EQ(counts.begin()->first, 0);
  EXPECT_EQ(counts.rbegin()->first, kPlaces - 1);
  double chi_squared = 0.0;
  const double expected = static_cast<double>(kDraws) / kPlaces;
  for (const auto& [place, count] : counts) {
    chi_squared += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected) / expected;
  }
  EXPECT_LT(chi_squared, 43.8);  // 19 degrees of freedom, p = 0.001
}

TEST(TextBatches, AreTheSameAgainFromAnyPosition) {
  for (const TextOrder order : {TextOrder::packed, TextOrder::windows}) {
    const TextBatchRules rules{.context = 10, .sequences = 3, .order = order};
    TextBatches batches(200, rules, 1, 2);
    std::vector<BatchPosition> positions;
    std::vector<std::vector<RowRange>> read;
    for (int i = 0; i < 20; ++i) {
      positions.push_back(batches.position());
      read.push_back(batches.next());
    }
    TextBatches again(200, rules, 1, 2);
    for (const size_t i : {13U, 2U, 19U, 0U}) {
      again.seek(positions[i]);
      EXPECT_EQ(again.next(), read[i]);
    }
    EXPECT_NE(read, (std::vector<std::vector<RowRange>>(20, read[0])));
    TextBatches other(200, rules, 2, 2);
    EXPECT_NE(other.next(), read[0]) << "the seed must change the batches";
  }
}

TEST(TextBatches, RefuseInvalidRulesAndForeignPositions) {
  const TextBatchRules rules{.context = 10, .sequences = 3};
  TextBatches batches(200, rules, 1, 2);
  const auto refusal = [&](auto call) { return message_of<ConfigError>(call); };
  EXPECT_EQ(refusal([] { TextBatches(9, {.context = 10, .sequences = 1}, 1, 2); }),
            "the training text: 9 tokens to be predicted, fewer than the context of 10");
  EXPECT_NE(refusal([] { TextBatches(9, {.context = 0, .sequences = 1}, 1, 2); }), "");
  EXPECT_NE(refusal([] { TextBatches(9, {.context = 1, .sequences = 0}, 1, 2); }), "");
  for (const TextBatches& other :
       {TextBatches(200, rules, 1, 3), TextBatches(201, rules, 1, 2),
        TextBatches(200, {.context = 10, .sequences = 4}, 1, 2),
        TextBatches(200, {.context = 10, .sequences = 3, .order = TextOrder::windows}, 1, 2)}) {
    EXPECT_THAT(refusal([&] { batches.seek(other.position()); }), HasSubstr("another text"));
  }
  BatchPosition beyond = batches.position();
  beyond.batch = batches.batches_per_epoch();
  EXPECT_THAT(refusal([&] { batches.seek(beyond); }), HasSubstr("there is no epoch 0"));
}

}  // namespace
}  // namespace heed
