#include "data/batches/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/errors.h"
#include "data/data_testing.h"

namespace heed {
namespace {

using testing::ElementsAre;

using Batch = std::vector<int64_t>;

// Lengths from 1 to 40, the same for the same sentence.
SentenceRows random_rows(int64_t sentence) {
  const uint64_t bits = RandomKey{17}.derive(static_cast<uint64_t>(sentence)).bits;
  return {1 + static_cast<int64_t>(bits % 40), 1 + static_cast<int64_t>((bits >> 32) % 40)};
}

BatchStream stream_of(int64_t sentences, const BatchRules& rules, uint64_t seed = 1) {
  return {sentences, random_rows, rules, seed, 99};
}

Batch take(BatchStream& stream) {
  const auto batch = stream.next();
  return {batch.begin(), batch.end()};
}

// One epoch of the stream, which is at its beginning.
std::vector<Batch> epoch_of(BatchStream& stream) {
  const int64_t epoch = stream.position().epoch;
  std::vector<Batch> batches;
  while (stream.position().epoch == epoch) {
    batches.push_back(take(stream));
  }
  return batches;
}

SentenceRows sum_of(const Batch& batch) {
  SentenceRows sum;
  for (const int64_t sentence : batch) {
    sum = {sum.source + random_rows(sentence).source, sum.target + random_rows(sentence).target};
  }
  return sum;
}

const std::vector<BatchRules>& many_rules() {
  static const std::vector<BatchRules> rules{
      {.target_tokens = 300, .pool = 100},
      {.target_tokens = 300, .total_tokens = 500, .pool = 300},
      {.target_tokens = 20},
      {.target_tokens = 300, .sentences = 7, .pool = 1},
      {.sentences = 16, .pool = 100},
      {.sentences = 64, .pool = 10},
      {.sentences = 1, .pool = 100, .order = PoolOrder::shuffled},
      {.total_tokens = 100, .pool = 77, .order = PoolOrder::shuffled},
  };
  return rules;
}

TEST(Batches, HoldEverySentenceOncePerEpoch) {
  for (const int64_t sentences : {1, 2, 63, 64, 65, 100, 101, 1000}) {
    for (const BatchRules& rules : many_rules()) {
      BatchStream stream = stream_of(sentences, rules);
      for (int epoch = 0; epoch < 3; ++epoch) {
        std::vector<int64_t> seen;
        for (const Batch& batch : epoch_of(stream)) {
          ASSERT_FALSE(batch.empty());
          seen.insert(seen.end(), batch.begin(), batch.end());
        }
        std::ranges::sort(seen);
        ASSERT_EQ(static_cast<int64_t>(seen.size()), sentences);
        for (int64_t i = 0; i < sentences; ++i) {
          ASSERT_EQ(seen[static_cast<size_t>(i)], i);
        }
      }
    }
  }
}

TEST(Batches, StayWithinTheirLimits) {
  for (const BatchRules& rules : many_rules()) {
    BatchStream stream = stream_of(1000, rules);
    for (const Batch& batch : epoch_of(stream)) {
      if (batch.size() == 1) {
        continue;
      }
      const SentenceRows sum = sum_of(batch);
      if (rules.target_tokens > 0) {
        EXPECT_LE(sum.target, rules.target_tokens);
      }
      if (rules.total_tokens > 0) {
        EXPECT_LE(sum.source + sum.target, rules.total_tokens);
      }
      if (rules.sentences > 0) {
        EXPECT_LE(static_cast<int64_t>(batch.size()), rules.sentences);
      }
    }
  }
}

TEST(Batches, HoldOnlyOneSentenceIfItExceedsTheLimit) {
  BatchStream stream = stream_of(1000, {.target_tokens = 20});
  size_t alone = 0;
  for (const Batch& batch : epoch_of(stream)) {
    if (std::ranges::any_of(batch, [](int64_t s) { return random_rows(s).target > 20; })) {
      EXPECT_EQ(batch.size(), 1U);
      ++alone;
    }
  }
  EXPECT_GT(alone, 300U);
}

TEST(Batches, AreFilledUpToTheLimit) {
  BatchStream stream = stream_of(10'000, {.target_tokens = 400, .pool = 5'000});
  std::vector<int64_t> sums;
  for (const Batch& batch : epoch_of(stream)) {
    sums.push_back(sum_of(batch).target);
  }
  const auto loose = std::ranges::count_if(sums, [](int64_t sum) { return sum <= 360; });
  EXPECT_LE(loose, 2);  // the last of each pool; the longest sentence has 40
}

TEST(Batches, OfAFixedNumberOfSentencesAreFullExceptOne) {
  for (const PoolOrder order : {PoolOrder::by_length, PoolOrder::shuffled}) {
    BatchStream stream = stream_of(1003, {.sentences = 16, .pool = 100, .order = order});
    std::map<size_t, int> sizes;
    for (const Batch& batch : epoch_of(stream)) {
      ++sizes[batch.size()];
    }
    EXPECT_EQ(sizes, (std::map<size_t, int>{{11, 1}, {16, 62}}));
  }
}

TEST(Batches, HoldSentencesOfSimilarLengths) {
  const auto spread = [](PoolOrder order) {
    BatchStream stream = stream_of(5000, {.sentences = 20, .pool = 5000, .order = order});
    int64_t sum = 0;
    for (const Batch& batch : epoch_of(stream)) {
      const auto [shortest, longest] = std::ranges::minmax(batch, {}, [](int64_t s) { return random_rows(s).target; });
      sum += random_rows(longest).target - random_rows(shortest).target;
    }
    return sum;
  };
  EXPECT_LT(spread(PoolOrder::by_length), 100);  // 40 lengths in 250 batches: at most every sixth crosses to the next
  EXPECT_GT(spread(PoolOrder::shuffled), 7000);
}

TEST(Batches, ComeInRandomOrder) {
  BatchStream stream = stream_of(20'000, {.sentences = 10});
  int64_t rises = 0, batches = 0, last = 0;
  for (const Batch& batch : epoch_of(stream)) {
    const int64_t length = random_rows(batch[0]).target;
    rises += length > last ? 1 : 0;
    last = length;
    ++batches;
  }
  EXPECT_NEAR(static_cast<double>(rises) / static_cast<double>(batches), 0.49, 0.05);
}

TEST(Batches, DifferFromEpochToEpochAndSeedToSeed) {
  const BatchRules rules{.target_tokens = 100};
  BatchStream stream = stream_of(1000, rules), other = stream_of(1000, rules, 2), same = stream_of(1000, rules);
  const auto first = epoch_of(stream);
  EXPECT_NE(first, epoch_of(other));
  EXPECT_EQ(first, epoch_of(same));
  const auto second = epoch_of(stream);
  EXPECT_NE(first, second);
}

// Sorting must not group the same sentences in every epoch, even when one pool holds them all.
TEST(Batches, GroupSentencesDifferentlyInEachEpoch) {
  BatchStream stream = stream_of(20'000, {.sentences = 20, .pool = 20'000});
  const auto first = epoch_of(stream), second = epoch_of(stream);
  std::vector<size_t> batch_of(20'000);
  for (size_t b = 0; b < second.size(); ++b) {
    for (const int64_t sentence : second[b]) {
      batch_of[static_cast<size_t>(sentence)] = b;
    }
  }
  int64_t together = 0;
  for (const Batch& batch : first) {
    for (const int64_t sentence : batch) {
      together += batch_of[static_cast<size_t>(sentence)] == batch_of[static_cast<size_t>(batch[0])] ? 1 : 0;
    }
  }
  // A sentence meets its batch's first again with itself (1000), else by 19 chances in about 500 of its length.
  EXPECT_LT(together, 1000 + 1500);
}

TEST(Batches, ContinueFromAPositionAsIfNeverStopped) {
  for (const BatchRules& rules : many_rules()) {
    BatchStream whole = stream_of(500, rules);
    std::vector<BatchPosition> positions;
    std::vector<Batch> batches;
    while (whole.position().epoch < 2) {
      positions.push_back(whole.position());
      batches.push_back(take(whole));
    }
    // Once in a stream that jumps about, once in a fresh one.
    BatchStream jumping = stream_of(500, rules);
    const size_t count = positions.size();
    for (size_t turn = 0; turn < 50; ++turn) {
      const size_t at = turn * 7919 % count;
      jumping.seek(positions[at]);
      EXPECT_EQ(jumping.position(), positions[at]);
      ASSERT_EQ(take(jumping), batches[at]);
      BatchStream fresh = stream_of(500, rules);
      fresh.seek(positions[at]);
      for (size_t i = at; i < std::min(at + 20, count); ++i) {
        ASSERT_EQ(fresh.position(), positions[i]);
        ASSERT_EQ(take(fresh), batches[i]);
      }
    }
  }
}

TEST(Batches, SeekPlansOnlyOnePool) {
  int64_t asked = 0;
  const BatchRules rules{.target_tokens = 100, .pool = 1000};
  const auto counting = [&asked](int64_t sentence) {
    ++asked;
    return random_rows(sentence);
  };
  BatchStream stream(1'000'000, counting, rules, 1, 99);
  stream.seek({stream.position().stream, 12, 777, 5});
  take(stream);
  EXPECT_LE(asked, 1000);
}

TEST(Batches, RefusePositionsOfAnotherStream) {
  const BatchRules rules{.target_tokens = 100, .pool = 100};
  const BatchPosition here = stream_of(1000, rules).position();
  const auto refused = [&](BatchStream stream) { return message_of<ConfigError>([&] { stream.seek(here); }); };
  const char* const message = "batches: the position belongs to another corpus, seed or batch size";
  EXPECT_EQ(refused(stream_of(1000, rules)), "");
  EXPECT_EQ(refused(stream_of(1001, rules)), message);
  EXPECT_EQ(refused(stream_of(1000, rules, 2)), message);
  EXPECT_EQ(refused(stream_of(1000, {.target_tokens = 101, .pool = 100})), message);
  EXPECT_EQ(refused(stream_of(1000, {.target_tokens = 100, .pool = 101})), message);
  EXPECT_EQ(refused(stream_of(1000, {.target_tokens = 100, .pool = 100, .order = PoolOrder::shuffled})), message);
  EXPECT_EQ(refused({1000, random_rows, rules, 1, 98}), message);
}

TEST(Batches, RefusePositionsThatDoNotExist) {
  BatchStream stream = stream_of(1000, {.target_tokens = 100, .pool = 100});
  const BatchPosition start = stream.position();
  const Batch first = take(stream);
  const auto seek = [&](int64_t epoch, int64_t pool, int64_t batch) {
    return message_of<ConfigError>([&] { stream.seek({start.stream, epoch, pool, batch}); });
  };
  const BatchPosition before = stream.position();
  EXPECT_EQ(seek(-1, 0, 0), "batches: there is no epoch -1, pool 0, batch 0");
  EXPECT_EQ(seek(0, 10, 0), "batches: there is no epoch 0, pool 10, batch 0");
  EXPECT_EQ(seek(0, 0, -1), "batches: there is no epoch 0, pool 0, batch -1");
  EXPECT_THAT(seek(0, 9, 100),
              testing::MatchesRegex("batches: pool 9 of epoch 0 has [0-9]+ batches, expected more than 100"));
  EXPECT_EQ(stream.position(), before);
  EXPECT_EQ(seek(0, 0, 0), "");
  EXPECT_EQ(take(stream), first);
}

TEST(Batches, RefuseRulesThatNoBatchCanSatisfy) {
  EXPECT_THROW(stream_of(10, {}), ConfigError);
  EXPECT_THROW(stream_of(10, {.target_tokens = -1}), ConfigError);
  EXPECT_THROW(stream_of(10, {.sentences = 1, .pool = 0}), ConfigError);
  EXPECT_THROW(stream_of(10, {.sentences = 1, .pool = int64_t{1} << 32}), ConfigError);
  EXPECT_THROW(stream_of(10, {.sentences = int64_t{1} << 32}), ConfigError);
  EXPECT_THROW(stream_of(0, {.sentences = 1}), ConfigError);
}

// The order is part of what a checkpoint resumes, so it must not change between versions. batches_golden.py, which is
// written from docs/data.md alone, prints these.
TEST(Batches, HaveTheSameOrderInEveryVersion) {
  BatchStream stream = stream_of(12, {.sentences = 4, .pool = 8});
  EXPECT_THAT(epoch_of(stream),
              ElementsAre(ElementsAre(7, 0, 9, 11), ElementsAre(6, 5, 2, 4), ElementsAre(8, 10, 1, 3)));
  EXPECT_THAT(epoch_of(stream),
              ElementsAre(ElementsAre(3, 5, 2, 4), ElementsAre(7, 9, 8, 11), ElementsAre(0, 10, 1, 6)));
}

// Four times as many sentences do not take sixteen times as long, and each is looked at once.
TEST(Batches, ArePlannedInTimeInProportionToTheNumberOfSentences) {
  const auto seconds_of = [](int64_t sentences) {
    std::vector<SentenceRows> lengths;
    for (int64_t i = 0; i < sentences; ++i) {
      lengths.push_back(random_rows(i));
    }
    return least_seconds([&] {
      int64_t looks = 0;
      const auto length = [&](int64_t i) {
        ++looks;
        return lengths[static_cast<size_t>(i)];
      };
      BatchStream stream(sentences, length, {.target_tokens = 4096}, 1, 99);
      EXPECT_GT(std::ssize(epoch_of(stream)), sentences / 200);
      EXPECT_EQ(looks, sentences);
    });
  };
  const double few = seconds_of(100'000), many = seconds_of(400'000);
  EXPECT_LT(many, 10.0 * few) << few << " s and " << many << " s";
}

}  // namespace
}  // namespace heed
