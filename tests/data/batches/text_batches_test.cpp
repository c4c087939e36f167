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

TEST(TextBatches, OfWindowsMayGrow) {
  const TextBatchRules rules{.context = 10,
                             .sequences = 7,
                             .order = TextOrder::windows,
                             .growth = {{3, {.sequences = 2, .context = 4}}, {5, {.sequences = 3, .context = 10}}}};
  TextBatches batches(1003, rules, 1, 2),
      constant(1003, {.context = 10, .sequences = 7, .order = TextOrder::windows}, 1, 2);
  EXPECT_NE(batches.position().stream, constant.position().stream);
  EXPECT_EQ(batches.batches_per_epoch(), constant.batches_per_epoch());
  std::vector<BatchPosition> positions;
  std::vector<std::vector<RowRange>> all;
  for (int64_t update = 0; update < 8; ++update) {
    positions.push_back(batches.position());
    all.push_back(batches.next(update));
    const TextBatchSize expected = update < 3   ? TextBatchSize{2, 4}
                                   : update < 5 ? TextBatchSize{3, 10}
                                                : TextBatchSize{7, 10};
    EXPECT_EQ(rules.size_at(update), expected);
    EXPECT_EQ(std::ssize(all.back()), expected.sequences);
    for (const RowRange& range : all.back()) {
      EXPECT_EQ(range.end - range.begin, expected.context);
    }
  }
  for (size_t update = 0; update < all.size(); ++update) {
    batches.seek(positions[update]);
    EXPECT_EQ(batches.next(static_cast<int64_t>(update)), all[update]) << "from any position";
  }
}

TEST(TextBatches, RefuseGrowthThatDoesNotFit) {
  const auto refuse = [](TextBatchRules rules, const std::string& part) {
    rules.context = 10;
    rules.sequences = 7;
    try {
      rules.validate();
      ADD_FAILURE() << part;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(part));
    }
  };
  refuse({.growth = {{3, {2, 4}}}}, "only windows can grow");
  refuse({.order = TextOrder::windows, .growth = {{3, {2, 4}}, {3, {2, 5}}}},
         "until update 3, but the one before it lasts until 3");
  refuse({.order = TextOrder::windows, .growth = {{0, {2, 4}}}}, "until update 0, but the one before it lasts until 0");
  refuse({.order = TextOrder::windows, .growth = {{3, {2, 11}}}}, "context of 11");
  refuse({.order = TextOrder::windows, .growth = {{3, {0, 4}}}}, "0 sequences");
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

// How often each row begins a sequence in so many epochs.
std::map<int64_t, int64_t> begins_in(TextBatches& batches, int64_t epochs) {
  std::map<int64_t, int64_t> begins;
  while (batches.position().epoch < epochs) {
    for (const RowRange& range : batches.next()) {
      ++begins[range.begin];
    }
  }
  return begins;
}

TEST(MixedTextBatches, TakeFromEachSourceByItsWeight) {
  // 10 sequences and 2; of 12 an epoch has 9 of the small source, 3 of the large one.
  const std::vector<WeightedRows> sources{{0, 50, 1.0}, {50, 59, 3.0}};
  TextBatches batches(59, {.context = 5, .sequences = 4}, 7, 1, sources);
  EXPECT_EQ(batches.sequences_per_epoch(), 12);
  const std::map<int64_t, int64_t> begins = begins_in(batches, 10);
  int64_t large = 0, small = 0;
  for (const auto& [begin, count] : begins) {
    EXPECT_EQ(begin % 5, 0);
    (begin < 50 ? large : small) += count;
    // Nothing comes again before all of its source has come.
    EXPECT_EQ(count, begin < 50 ? 3 : 45);
  }
  EXPECT_EQ(large, 30);
  EXPECT_EQ(small, 90);
  EXPECT_EQ(begins.size(), 12U);
}

TEST(MixedTextBatches, StayWithinTheirSource) {
  for (const TextOrder order : {TextOrder::packed, TextOrder::windows}) {
    TextBatches batches(60, {.context = 7, .sequences = 3, .order = order}, 7, 1, {{0, 31, 2.0}, {31, 60, 1.0}});
    int64_t first = 0, second = 0;
    while (batches.position().epoch < 200) {
      for (const RowRange& range : batches.next()) {
        EXPECT_TRUE(range.end <= 31 || range.begin >= 31);
        EXPECT_LT(range.begin, range.end);
        ++(range.end <= 31 ? first : second);
      }
    }
    EXPECT_NEAR(static_cast<double>(first) / static_cast<double>(first + second), 0.7, 0.03);  // 7 of 10 sequences
  }
}

TEST(MixedTextBatches, GoOnFromAnyPosition) {
  const std::vector<WeightedRows> sources{{0, 40, 1.0}, {40, 41, 0.0}, {41, 90, 0.7}};
  for (const TextOrder order : {TextOrder::packed, TextOrder::windows}) {
    const TextBatchRules rules{.context = 6, .sequences = 2, .order = order};
    TextBatches all(90, rules, 3, 9, sources);
    for (int64_t i = 0; i < 40; ++i) {
      TextBatches from_here(90, rules, 3, 9, sources);
      from_here.seek(all.position());
      EXPECT_EQ(from_here.next(), all.next());
    }
  }
}

TEST(MixedTextBatches, AreAnotherStreamForOtherWeights) {
  const TextBatchRules rules{.context = 5, .sequences = 4};
  TextBatches one(60, rules, 7, 1, {{0, 50, 1.0}, {50, 60, 3.0}}),
      other(60, rules, 7, 1, {{0, 50, 1.0}, {50, 60, 2.0}}), none(60, rules, 7, 1);
  EXPECT_THROW(one.seek(other.position()), ConfigError);
  EXPECT_THROW(one.seek(none.position()), ConfigError);
}

TEST(MixedTextBatches, RefuseSourcesThatGiveNothing) {
  const TextBatchRules rules{.context = 5, .sequences = 4};
  const auto refused = [](const TextBatchRules& by, const WeightedRows& small, const std::string& message) {
    test::expect_error<ConfigError>(
        [&] {
          TextBatches(60, by, 7, 1, {{0, small.begin, 1.0, "large.txt"}, small});
        },
        {"small.txt: ", message});
  };
  refused(rules, {50, 50, 3.0, "small.txt"}, "0 tokens to be predicted");
  refused(rules, {50, 60, 1e-6, "small.txt"}, "gets none of an epoch's 12 sequences");
  const TextBatchRules windows{.context = 5, .sequences = 4, .order = TextOrder::windows};
  refused(windows, {56, 60, 1.0, "small.txt"}, "at least 5 must be there");
}

TEST_F(Rows, OfFilesBeginWhereTheirTokensDo) {
  ThreadPool pool(1);
  for (const Documents documents : {Documents::none, Documents::lines}) {
    const TextCorpus corpus =
        read_text_corpus({.files = {put("a", "ab\ncd\n"), put("c", "efg\n")}, .documents = documents},
                         test::trained(TokenizerKind::byte), pool);
    const std::vector<int64_t> begins = corpus.file_begins();
    ASSERT_EQ(begins.size(), 2U);
    EXPECT_EQ(begins[0], 0);
    const TextRows rows(corpus, DocumentBorders::kept);
    const int64_t first = rows.row_of(begins[1]);
    // "ab" and "cd", with a break or marks: the first row after them.
    EXPECT_EQ(first, 6);
    const std::vector<RowRange> rest{{first, rows.size()}};
    EXPECT_EQ(segments_of(rows.read(rest)).front().substr(0, 2), documents == Documents::none ? "ef" : "<e");
  }
}

}  // namespace
}  // namespace heed
