#include "data/corpus/corpus.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "data/data_testing.h"
#include "source_root.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Paths = std::vector<std::filesystem::path>;

class CorpusReading : public InFolder {
 protected:
  static CorpusSide side(Paths files, int64_t min_length = 1, int64_t max_length = 4) {
    return {std::move(files), encode_words, 1000, min_length, max_length};
  }

  Corpus read(const std::vector<CorpusSide>& sides, const CorpusRules& rules = {}) const {
    ThreadPool pool(1);
    return read_corpus(sides, rules, pool);
  }
  Corpus read_pair(std::string_view source, std::string_view target, const CorpusRules& rules = {}) const {
    return read({side({put("s", source)}), side({put("t", target)})}, rules);
  }

  // What is refused, without the folder's name.
  std::string refusal(const auto& call) const { return without_folder(message_of<FormatError>(call)); }
  std::string refusal_of_pair(std::string_view source, std::string_view target, const CorpusRules& rules = {}) const {
    return refusal([&] { read_pair(source, target, rules); });
  }
  std::string without_folder(std::string text) const {
    const std::string prefix = folder_.string() + "/";
    for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
      text.erase(at, prefix.size());
    }
    return text;
  }

  static std::vector<int32_t> ids(const TokenStore& store, int64_t s) {
    std::vector<int32_t> values;
    store.read(s, values);
    return values;
  }
};

TEST_F(CorpusReading, KeepsPairsInOrder) {
  const Corpus corpus = read_pair("1 2\n3\n", "4\n5 6 7\n");
  EXPECT_EQ(corpus.size(), 2);
  EXPECT_EQ(corpus.sides(), 2);
  EXPECT_THAT(ids(corpus.source(), 0), ElementsAre(1, 2));
  EXPECT_THAT(ids(corpus.target(), 0), ElementsAre(4));
  EXPECT_THAT(ids(corpus.source(), 1), ElementsAre(3));
  EXPECT_THAT(ids(corpus.target(), 1), ElementsAre(5, 6, 7));
  EXPECT_EQ(corpus.report().text(), "2 lines, 2 kept, 0 dropped");
}

TEST_F(CorpusReading, OneSideIsEnough) {
  const Corpus corpus = read({side({put("a", "1\n2 3\n")})});
  EXPECT_EQ(corpus.sides(), 1);
  EXPECT_EQ(&corpus.source(), &corpus.target());
  EXPECT_THAT(ids(corpus.side(0), 1), ElementsAre(2, 3));
  EXPECT_EQ(without_folder(corpus.where(1)), "a:2");
}

TEST_F(CorpusReading, KnowsEachLinesOriginInManyFiles) {
  const Corpus corpus = read({side({put("s1", "1\n\n2\n"), put_gzip("s2", "3\n"), put("s3", "\n\n4\n5\n")}),
                              side({put_gzip("t1", "1\n1\n2\n"), put("t2", "3\n"), put("t3", "4\n4\n4\n5\n")})});
  ASSERT_EQ(corpus.size(), 5);
  std::vector<std::string> places;
  for (int64_t i = 0; i < corpus.size(); ++i) {
    places.push_back(without_folder(corpus.where(i)));
    EXPECT_THAT(ids(corpus.source(), i), ElementsAre(i + 1));
  }
  EXPECT_THAT(places, ElementsAre("s1:1 | t1:1", "s1:3 | t1:3", "s2:1 | t2:1", "s3:3 | t3:3", "s3:4 | t3:4"));
  EXPECT_EQ(corpus.origin(2), (LineOrigin{1, 1}));
  EXPECT_THROW(corpus.origin(5), InternalError);
  EXPECT_EQ(without_folder(corpus.report().text()), "8 lines, 5 kept, 3 dropped: 3 empty (first s1:2)");
}

TEST_F(CorpusReading, KnowsTheLinesAfterAFileWithoutKeptOnes) {
  const Corpus corpus = read({side({put("a", "1\n"), put("b", "\n"), put("c", "3\n")})});
  EXPECT_EQ(without_folder(corpus.where(0)), "a:1");
  EXPECT_EQ(without_folder(corpus.where(1)), "c:1");
}

TEST_F(CorpusReading, CountsWhatItDropsAndWhy) {
  CorpusRules rules;
  rules.max_ratio = 2.0;
  rules.duplicates = Duplicates::drop;
  const Corpus corpus = read({side({put("s", "1 2\n \t\n1 2 3 4 5\n1\n1 2 3\n1 2\n1 2\n9 9\n")}, 2),
                              side({put("t", "1 2\n1\n1 2\n1\n1\n1 2\n1 3\n9 9\n")})},
                             rules);
  EXPECT_EQ(without_folder(corpus.report().text()),
            "8 lines, 3 kept, 5 dropped: 1 empty (first s:2), 1 too short (first s:4), 1 too long (first s:3), "
            "1 unequal in length (first s:5), 1 duplicate (first s:6)");
  EXPECT_EQ(without_folder(corpus.where(0)), "s:1 | t:1");
  EXPECT_EQ(without_folder(corpus.where(1)), "s:7 | t:7");
}

TEST_F(CorpusReading, DropsOnlyEqualPairsAsDuplicates) {
  CorpusRules rules;
  rules.duplicates = Duplicates::drop;
  EXPECT_EQ(read_pair("1 2\n1\n2\n1\n", "3\n2 3\n1\n2 3\n", rules).report().drop(DropReason::duplicate).count, 1);
  EXPECT_EQ(read_pair("1\n1\n", "1\n1\n").size(), 2);
}

TEST_F(CorpusReading, FindsEveryDuplicateAmongManyLines) {
  std::string content;
  for (int i = 0; i < 20'000; ++i) {
    content += fmt::format("x{}\n", i % 7'000);
  }
  CorpusRules rules;
  rules.duplicates = Duplicates::drop;
  const Corpus corpus = read({side({put("a", content)})}, rules);
  EXPECT_EQ(corpus.size(), 7'000);
  EXPECT_EQ(corpus.report().drop(DropReason::duplicate).count, 13'000);
}

TEST_F(CorpusReading, DropsTruncatesOrRefusesLongSentences) {
  CorpusRules rules;
  EXPECT_EQ(read_pair("1\n2\n", "1 2 3 4\n1 2 3 4 5\n").report().drop(DropReason::too_long).count, 1);
  rules.too_long = TooLong::refuse;
  EXPECT_EQ(refusal_of_pair("1\n2\n", "1 2 3 4\n1 2 3 4 5\n", rules), "t:2: 5 tokens, expected at most 4");
  rules.too_long = TooLong::truncate;
  const Corpus corpus = read_pair("1\n2\n", "1 2 3 4\n1 2 3 4 5\n", rules);
  EXPECT_THAT(ids(corpus.target(), 1), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(corpus.report().text(), "2 lines, 2 kept (1 truncated), 0 dropped");
}

TEST_F(CorpusReading, ComparesLengthsBeforeTruncation) {
  CorpusRules rules;
  rules.too_long = TooLong::truncate;
  rules.max_ratio = 4.0;
  EXPECT_EQ(read_pair("1\n1\n", "1 2 3 4\n1 2 3 4 5\n", rules).report().drop(DropReason::ratio).count, 1);
}

TEST_F(CorpusReading, EmptyLinesAndShortOnesMayBeRefused) {
  CorpusRules rules;
  rules.empty_line = Handling::refuse;
  EXPECT_EQ(refusal_of_pair("1\n2\n", "1\n \n", rules), "t:2: the line is empty");
  rules = {};
  rules.too_short = Handling::refuse;
  EXPECT_EQ(refusal([&] { read({side({put("a", "1 2\n\n1\n")}, 2)}, rules); }), "a:3: 1 token, expected at least 2");
}

TEST_F(CorpusReading, EmptySidesCanBeKept) {
  const Corpus corpus = read({side({put("s", "1\n\n")}), side({put("t", "\n2\n")}, 0)});
  EXPECT_EQ(without_folder(corpus.report().text()), "2 lines, 1 kept, 1 dropped: 1 empty (first s:2)");
  EXPECT_EQ(corpus.target().length(0), 0);
}

TEST_F(CorpusReading, OverLongLinesAreRefusedOrSkipped) {
  CorpusRules rules;
  rules.max_line_bytes = 5;
  EXPECT_EQ(refusal_of_pair("1\n2\n", "1\n1 2 3 4\n", rules), "t:2: the line is longer than 5 bytes");
  rules.over_long_line = Handling::skip;
  const Corpus corpus = read_pair("1\n2\n3\n", "1\n1 2 3 4\n3\n", rules);
  EXPECT_EQ(without_folder(corpus.report().text()), "3 lines, 2 kept, 1 dropped: 1 over-long line (first t:2)");
}

TEST_F(CorpusReading, FilesOfUnequalLengthAreRefusedOrTruncated) {
  EXPECT_EQ(refusal_of_pair("1\n2\n3\n4\n", "1\n2\n"), "corpus: t has 2 lines, but s has 4");
  EXPECT_EQ(refusal_of_pair("1\n", "1\n2\n"), "corpus: s has 1 lines, but t has 2");
  CorpusRules rules;
  rules.unequal_files = Handling::skip;
  EXPECT_EQ(without_folder(read_pair("1\n2\n3\n4\n", "1\n2\n", rules).report().text()),
            "4 lines, 2 kept, 2 dropped: 2 unpaired (first s:3)");
}

TEST_F(CorpusReading, EmptyFilesAreRefusedOrSkipped) {
  const auto sides = [&] {
    return std::vector{side({put("s1", ""), put("s2", "1\n")}), side({put("t1", ""), put("t2", "1\n")})};
  };
  EXPECT_EQ(refusal([&] { read(sides()); }), "s1: the file has no lines");
  EXPECT_EQ(refusal_of_pair("1\n", ""), "t: the file has no lines");
  CorpusRules rules;
  rules.empty_file = Handling::skip;
  const Corpus corpus = read(sides(), rules);
  EXPECT_EQ(corpus.report().text(), "1 line, 1 kept, 0 dropped; 1 empty file skipped");
  EXPECT_EQ(without_folder(corpus.where(0)), "s2:1 | t2:1");
  EXPECT_EQ(refusal_of_pair("1\n", "", rules), "corpus: t has 0 lines, but s has 1");
}

TEST_F(CorpusReading, ATextWithoutKeptLinesIsRefused) {
  EXPECT_EQ(refusal_of_pair("\n", "1\n"),
            "corpus: no line of s can be used: 1 line, 0 kept, 1 dropped: 1 empty (first s:1)");
}

TEST_F(CorpusReading, InvalidUtf8IsRefusedWithTheLine) {
  EXPECT_EQ(refusal_of_pair("1\n2\n", "1\n\xff\n"), "t:2: byte 1 of the line is not UTF-8");
}

TEST_F(CorpusReading, ImpossibleRulesAreRefused) {
  const auto path = put("a", "1\n");
  EXPECT_THROW(read({}), ConfigError);
  EXPECT_THROW(read({side({})}), ConfigError);
  EXPECT_THROW(read({side({path}), side({path, path})}), ConfigError);
  EXPECT_THROW(read({side({path}, 3, 2)}), ConfigError);
  EXPECT_THROW(read({side({path}, 0, 0)}), ConfigError);
  CorpusRules rules;
  rules.max_ratio = 0.5;
  EXPECT_THROW(read({side({path})}, rules), ConfigError);
}

TEST_F(CorpusReading, OtherTokensGiveAnotherFingerprint) {
  const auto print = [&](std::string_view content) { return read({side({put("a", content)})}).fingerprint(); };
  EXPECT_EQ(print("1 2\n3\n"), print("1  2\n\n3\n"));
  EXPECT_NE(print("1 2\n3\n"), print("1\n2 3\n"));
  EXPECT_NE(print("1 2\n3\n"), print("3\n1 2\n"));
  EXPECT_NE(print("0\n"), print("0\n0\n"));
}

TEST_F(CorpusReading, AnEncoderThatFailsEndsWithItsError) {
  CorpusSide bad = side({put("a", "1\n2000\n")});
  EXPECT_EQ(message_of<ShapeError>([&] { read({bad}); }), "tokens: id 2000 in a vocabulary of 1000");
  bad.encode = [](std::string_view) -> std::vector<TokenId> { throw FormatError("encoder: no"); };
  EXPECT_EQ(message_of<FormatError>([&] { read({bad}); }), "encoder: no");
}

// Duplicates are looked for among all lines; still, four times as many do not take sixteen times as long.
TEST_F(CorpusReading, TakesTimeInProportionToTheNumberOfLines) {
  const auto seconds_of = [&](int lines) {
    std::string content;
    for (int i = 0; i < lines; ++i) {
      content += fmt::format("{} {} {}\n", i % 1000, i / 1000, i % 7);
    }
    const std::vector<CorpusSide> sides{side({put("s", content)}), side({put("t", content)})};
    CorpusRules rules;
    rules.duplicates = Duplicates::drop;
    return least_seconds([&] { EXPECT_EQ(read(sides, rules).size(), lines); });
  };
  const double few = seconds_of(5'000), many = seconds_of(20'000);
  EXPECT_LT(many, 10.0 * few) << few << " s and " << many << " s";
}

TEST_F(CorpusReading, ReadsTwentyNineThousandPairs) {
  const char* const data = std::getenv("HEED_DATA");
  const std::filesystem::path folder =
      (data != nullptr ? std::filesystem::path(data) : test::source_root() / ".." / "shared" / "data") / "multi30k";
  if (!std::filesystem::exists(folder / "train.de")) {
    GTEST_SKIP() << folder << " is not there";
  }
  const LineEncoder bytes = [](std::string_view text) {
    std::vector<TokenId> ids;
    for (size_t at = 0; at < text.size(); at += 4) {
      ids.emplace_back(static_cast<unsigned char>(text[at]));
    }
    return ids;
  };
  CorpusRules rules;
  rules.duplicates = Duplicates::drop;
  ThreadPool pool(1);
  const Corpus corpus =
      read_corpus({{{folder / "train.de"}, bytes, 256}, {{folder / "train.en"}, bytes, 256}}, rules, pool);
  EXPECT_EQ(corpus.report().lines, 29'000);
  EXPECT_GT(corpus.size(), 28'500);
  EXPECT_THAT(corpus.where(0), HasSubstr("train.de:1 | "));
}

}  // namespace
}  // namespace heed
