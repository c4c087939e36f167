#include "data/corpus/token_store.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>

#include "base/random.h"
#include "data/data_testing.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<TokenId> random_sequence(uint64_t number, int64_t vocabulary) {
  const RandomKey key = RandomKey{3}.derive(number);
  std::vector<TokenId> ids;
  for (uint64_t i = 0; i < number % 50; ++i) {
    ids.emplace_back(static_cast<int32_t>(key.derive(i).bits % static_cast<uint64_t>(vocabulary)));
  }
  return ids;
}

std::vector<int32_t> plain(const std::vector<TokenId>& ids) {
  std::vector<int32_t> values;
  for (const TokenId id : ids) {
    values.push_back(id.value);
  }
  return values;
}

class Store : public InFolder {};

TEST_F(Store, ReadsAnySequenceFromMemoryOrDisk) {
  for (const int64_t vocabulary : {int64_t{1}, int64_t{65536}, int64_t{65537}, int64_t{INT32_MAX}}) {
    for (const size_t memory : {size_t{0}, size_t{1000}, size_t{1} << 30}) {
      TokenStore store(vocabulary, {memory, folder_});
      constexpr int64_t kSequences = 3000;
      int64_t tokens = 0;
      for (int64_t s = 0; s < kSequences; ++s) {
        store.append(random_sequence(static_cast<uint64_t>(s), vocabulary));
        tokens += s % 50;
      }
      store.seal();
      EXPECT_EQ(store.spilled(), memory < 10'000);
      EXPECT_EQ(store.size(), kSequences);
      EXPECT_EQ(store.tokens(), tokens);
      for (int64_t turn = 0; turn < kSequences; ++turn) {
        const int64_t s = turn * 1009 % kSequences;
        std::vector<int32_t> ids;
        store.read(s, ids);
        ASSERT_EQ(store.length(s), s % 50);
        ASSERT_EQ(ids, plain(random_sequence(static_cast<uint64_t>(s), vocabulary)));
      }
    }
  }
}

TEST_F(Store, AppendsToTheVectorItReadsInto) {
  TokenStore store(100);
  store.append(std::vector{TokenId(5), TokenId(6)});
  store.append({});
  store.append(std::vector{TokenId(7)});
  store.seal();
  std::vector<int32_t> ids;
  store.read(2, ids);
  store.read(1, ids);
  store.read(0, ids);
  EXPECT_THAT(ids, ElementsAre(7, 5, 6));
  EXPECT_THROW(store.read(3, ids), InternalError);
}

TEST_F(Store, SurvivesAMove) {
  TokenStore first(100, {0, folder_});
  first.append(std::vector{TokenId(5), TokenId(6)});
  first.seal();
  TokenStore second(std::move(first));
  TokenStore third(10);
  third = std::move(second);
  std::vector<int32_t> ids;
  third.read(0, ids);
  EXPECT_THAT(ids, ElementsAre(5, 6));
}

TEST_F(Store, LeavesNoFileWithAName) {
  TokenStore store(100, {0, folder_});
  store.append(std::vector{TokenId(5)});
  EXPECT_TRUE(store.spilled());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Store, RefusesIdsOutsideTheVocabulary) {
  TokenStore store(100);
  EXPECT_EQ(message_of<ShapeError>([&] {
              store.append(std::vector{TokenId(1), TokenId(100)});
            }),
            "tokens: id 100 in a vocabulary of 100");
  EXPECT_THROW(store.append(std::vector{TokenId(-1)}), ShapeError);
  EXPECT_EQ(store.size(), 0);
  EXPECT_THROW(TokenStore(0), ConfigError);
  EXPECT_THROW(TokenStore(int64_t{1} << 40), ConfigError);
}

TEST_F(Store, SaysWhereItCannotSpill) {
  TokenStore store(100, {0, folder_ / "none"});
  EXPECT_EQ(message_of<IoError>([&] { store.append(std::vector{TokenId(1)}); }),
            (folder_ / "none").string() + ": cannot create a temporary file: No such file or directory");
}

TEST_F(Store, SaysWhenTheDiskIsFull) {
  // A limit on the size of files stands in for a full disk.
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  getrlimit(RLIMIT_FSIZE, &old_limit);
  const rlimit limit{4096, old_limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  const std::string message = message_of<IoError>([&] {
    TokenStore store(100, {0, folder_});
    store.append(std::vector<TokenId>(2'000'000, TokenId(1)));
    store.seal();
  });
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr(folder_.string() + ": cannot write a temporary file: "));
}

}  // namespace
}  // namespace heed
