#include "ranks/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "base/errors.h"
#include "ranks/thread_transport.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class EachCount : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, EachCount, testing::Values(1, 2, 3, 4, 7));

TEST_P(EachCount, ABroadcastReachesAll) {
  run_thread_ranks(GetParam(), [](Transport& transport) {
    const Ranks ranks(transport);
    std::vector<int> values(700'000, ranks.is_first() ? 5 : 0);
    ranks.broadcast(std::as_writable_bytes(std::span(values)));
    EXPECT_EQ(std::ranges::count(values, 5), 700'000);
    EXPECT_EQ(ranks.broadcast_text(ranks.is_first() ? "from the first" : ""), "from the first");
  });
}

TEST_P(EachCount, AllTextsComeInTheOrderOfTheRanks) {
  run_thread_ranks(GetParam(), [](Transport& transport) {
    const Ranks ranks(transport);
    const std::vector<std::string> texts = ranks.all_texts(std::string(static_cast<size_t>(ranks.rank()), 'x'));
    ASSERT_EQ(texts.size(), static_cast<size_t>(ranks.count()));
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(texts[i].size(), i);
    }
  });
}

TEST_P(EachCount, AllGatherHasEverybodysPartInOrder) {
  run_thread_ranks(GetParam(), [](Transport& transport) {
    const Ranks ranks(transport);
    const std::vector<int> own{ranks.rank(), -ranks.rank()};
    std::vector<int> all(2 * static_cast<size_t>(ranks.count()));
    ranks.all_gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i], static_cast<int>(i / 2) * (i % 2 == 0 ? 1 : -1));
    }
  });
}

TEST(Ranks, MessagesOnOneChannelStayInOrder) {
  run_thread_ranks(2, [](Transport& transport) {
    const Ranks ranks(transport);
    std::vector<int> values(100);
    std::iota(values.begin(), values.end(), 0);
    std::vector<int> found(100);
    std::vector<Transfer> transfers;
    for (size_t i = 0; i < values.size(); ++i) {
      transfers.push_back(ranks.send(1 - ranks.rank(), Channel::gradients, std::as_bytes(std::span(&values[i], 1))));
    }
    for (int& value : found) {
      transfers.push_back(
          ranks.receive(1 - ranks.rank(), Channel::gradients, std::as_writable_bytes(std::span(&value, 1))));
    }
    for (Transfer& transfer : transfers) {
      ranks.wait(transfer);
    }
    EXPECT_EQ(found, values);
  });
}

TEST(Ranks, GroupsDoNotMixTheirMessages) {
  run_thread_ranks(4, [](Transport& transport) {
    const Ranks all(transport);
    const int column = all.rank() % 2, row = all.rank() / 2;
    const Ranks columns = all.group({column, column + 2}, 1 + column),
                rows = all.group({2 * row, 2 * row + 1}, 3 + row);
    EXPECT_EQ(columns.rank(), row);
    EXPECT_EQ(columns.name_of(1), column == 0 ? "rank 2 of 4" : "rank 3 of 4");
    EXPECT_THAT(columns.all_texts(std::to_string(all.rank())),
                ElementsAre(std::to_string(column), std::to_string(column + 2)));
    EXPECT_THAT(rows.all_texts(std::to_string(all.rank())),
                ElementsAre(std::to_string(2 * row), std::to_string(2 * row + 1)));
  });
}

// Its memory is gone before the others learn of the error.
TEST(Ranks, AMessageThatWasGivenUpIsNotReceived) {
  std::atomic<bool> given_up{false}, looked{false};
  const auto body = [&](Transport& transport) {
    const Ranks ranks(transport);
    std::vector<int> values{1, 2, 3};
    if (ranks.is_first()) {
      { const Transfer transfer = ranks.send(1, Channel::control, std::as_bytes(std::span(values))); }
      given_up = true;
      looked.wait(false);
      fail<FormatError>("line 7", "is broken");
    }
    while (!given_up) {
      std::this_thread::yield();
    }
    Transfer transfer = ranks.receive(0, Channel::control, std::as_writable_bytes(std::span(values)));
    EXPECT_FALSE(transfer.is_done());
    looked = true;
    looked.notify_all();
    transfer.wait();
  };
  EXPECT_THROW(run_thread_ranks(2, body), FormatError);
}

TEST(Ranks, WorkIsTakenFromWhoeverAsks) {
  run_thread_ranks(3, [](Transport& transport) {
    const Ranks ranks(transport);
    if (ranks.is_first()) {
      int sum = 0;
      for (int i = 0; i < 20; ++i) {
        const Ranks::Message message = ranks.receive_any(Channel::results);
        EXPECT_EQ(message.bytes, std::to_string(message.from));
        sum += message.from;
      }
      EXPECT_EQ(sum, 30);
    } else {
      for (int i = 0; i < 10; ++i) {
        ranks.send_text(0, Channel::results, std::to_string(ranks.rank()));
      }
    }
  });
}

TEST(Ranks, WhenOneFailsTheOthersLearnWhichAndWhy) {
  std::atomic<int> learned{0};
  const auto body = [&](Transport& transport) {
    const Ranks ranks(transport);
    if (ranks.rank() == 1) {
      fail<IoError>("text.de", "no such file");
    }
    try {
      (void)ranks.receive_any(Channel::work);
    } catch (const RankError& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 1 of 3: text.de: no such file"));
      ++learned;
      throw;
    }
  };
  EXPECT_THROW(run_thread_ranks(3, body), IoError);
  EXPECT_EQ(learned, 2);
}

TEST(Ranks, ARankAloneNeedsNoTransport) {
  const Ranks alone;
  EXPECT_TRUE(alone.is_alone());
  EXPECT_EQ(alone.broadcast_text("text"), "text");
  EXPECT_THAT(alone.all_texts("text"), ElementsAre("text"));
}

}  // namespace
}  // namespace heed
