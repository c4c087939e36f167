#include <gtest/gtest.h>

#include "base/random.h"
#include "data/corpus/corpus.h"
#include "data/data_testing.h"
#include "ranks/thread_transport.h"

namespace heed {
namespace {

class CorpusThreads : public InFolder {
 protected:
  static void expect_same(const Corpus& first, const Corpus& second) {
    ASSERT_EQ(first.size(), second.size());
    EXPECT_EQ(first.fingerprint(), second.fingerprint());
    EXPECT_EQ(first.report().text(), second.report().text());
    for (int64_t i = 0; i < first.size(); ++i) {
      ASSERT_EQ(ids(first.source(), i), ids(second.source(), i));
      ASSERT_EQ(ids(first.target(), i), ids(second.target(), i));
      ASSERT_EQ(first.origin(i), second.origin(i));
    }
  }

  static std::vector<int32_t> ids(const TokenStore& store, int64_t s) {
    std::vector<int32_t> values;
    store.read(s, values);
    return values;
  }
};

TEST_F(CorpusThreads, AnyNumberAndAnyStoreGiveTheSameCorpus) {
  const RandomKey key{9};
  std::string source, target;
  for (uint64_t i = 0; i < 10'000; ++i) {
    for (uint64_t words = key.derive(i).bits % 6; words > 0; --words) {
      source += fmt::format("{} ", i % 1000);
      target += fmt::format("{} ", words);
    }
    source += "\n";
    target += "\n";
  }
  const std::vector<CorpusSide> sides{{{put_gzip("s", source)}, encode_words, 1000, 1, 4},
                                      {{put("t", target)}, encode_words, 1000, 1, 4}};
  ThreadPool one(1), three(3);
  const Corpus first = read_corpus(sides, {}, one);
  const Corpus second = read_corpus(sides, {}, three, {.memory_bytes = 1000, .folder = folder_});
  EXPECT_TRUE(second.source().spilled());
  expect_same(first, second);
}

TEST_F(CorpusThreads, SeveralRanksShareTheLinesAndAllHaveTheSameCorpus) {
  std::string source, target;
  for (int i = 0; i < 50'000; ++i) {  // chunks of a rank are smaller
    source += fmt::format("{}\n", fmt::join(std::vector<int>(static_cast<size_t>(i % 7), i % 1000), " "));
    target += fmt::format("{}\n", i % 900);
  }
  std::atomic<int> encoded = 0;
  const auto counting = [&](std::string_view text) {
    ++encoded;
    return encode_words(text);
  };
  const std::vector<CorpusSide> sides{{{put("s", source)}, counting, 1000, 1, 6}, {{put("t", target)}, counting, 1000}};
  ThreadPool alone(2);
  const Corpus expected = read_corpus(sides, {}, alone);
  const int once = encoded.exchange(0);
  run_thread_ranks(3, [&](Transport& transport) {
    ThreadPool pool(1);
    expect_same(read_corpus(sides, {}, {pool, Ranks(transport)}), expected);
  });
  EXPECT_EQ(encoded, once);
}

}  // namespace
}  // namespace heed
