#include "ranks/mpi/mpi_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <thread>

#include "base/system/clock.h"
#include "ranks/fake_mpi.h"
#include "ranks/ranks.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr RankTimes kTimes{.silence = 0.5, .busy = 0.3, .printing = 0.5, .ending = 0.3};

// Runs `body` with a transport for each of these ranks, on threads.
void run_over(
    FakeMpi& mpi, const std::vector<int>& ranks, const std::function<void(MpiTransport&)>& body,
    const MpiTransport::WhenBusy& when_busy = [](const RankFailure&) {}) {
  std::vector<std::thread> threads;
  threads.reserve(ranks.size());
  for (const int rank : ranks) {
    threads.emplace_back([&, rank] {
      MpiTransport transport(mpi.table(rank), kTimes, when_busy);
      body(transport);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_FALSE(mpi.was_called_by_two_threads());
}

void sleep_for_seconds(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// What a receive that nobody answers throws.
std::string failure_of_waiting(MpiTransport& transport) {
  std::vector<std::byte> memory(8);
  try {
    transport.receive(0, {0, Channel::state}, memory).wait();
  } catch (const RankError& error) {
    return error.what();
  }
  return "none";
}

TEST(MpiTransport, RanksWorkOverIt) {
  FakeMpi mpi(3);
  run_over(mpi, {0, 1, 2}, [](MpiTransport& transport) {
    const Ranks ranks(transport);
    for (int i = 0; i < 20; ++i) {
      EXPECT_THAT(ranks.all_texts(std::to_string(ranks.rank() + i)),
                  ElementsAre(std::to_string(i), std::to_string(i + 1), std::to_string(i + 2)));
    }
    EXPECT_TRUE(transport.wait_until_all_ended());
  });
}

TEST(MpiTransport, EachChannelOfEachGroupHasATagOfItsOwn) {
  EXPECT_EQ(mpi_tag({0, Channel::heartbeat}), 0);
  EXPECT_LT(mpi_tag({0, Channel::results}), mpi_tag({1, Channel::heartbeat}));
  EXPECT_LT(mpi_tag({Transport::kMaxGroups - 1, Channel::results}), 1 << 20);
}

TEST(MpiTransport, AGroupWithoutATagIsRefused) {
  FakeMpi mpi(1);
  HeedMpiTable few_tags = mpi.table(0);
  few_tags.largest_tag = [](void*) { return 32767; };
  MpiTransport transport(few_tags, kTimes, {});
  EXPECT_NO_THROW((void)transport.find_arrival({}, {2000, Channel::control}));
  try {
    (void)transport.find_arrival({}, {3000, Channel::control});
    FAIL();
  } catch (const RankError& error) {
    EXPECT_THAT(error.what(), HasSubstr("tags up to 32767, but group 3000 needs 48002"));
  }
}

TEST(MpiTransport, HeartbeatsKeepIdleRanksInTheJob) {
  FakeMpi mpi(2);
  run_over(mpi, {0, 1}, [](MpiTransport& transport) {
    sleep_for_seconds(4.0 * kTimes.silence);
    EXPECT_FALSE(transport.failure());
    transport.wait_until_all_ended();
  });
}

TEST(MpiTransport, ASilentRankIsNamedByAllOthers) {
  for (const int silent : {0, 1, 2}) {
    FakeMpi mpi(3);
    std::vector<int> others{0, 1, 2};
    std::erase(others, silent);
    run_over(mpi, others, [&](MpiTransport& transport) {
      EXPECT_EQ(failure_of_waiting(transport), fmt::format("rank {} of 3: has not answered for 0.5 s", silent));
      EXPECT_EQ(transport.failure()->kind, RankFailure::Kind::silence);
    });
  }
}

TEST(MpiTransport, AnErrorReachesAll) {
  FakeMpi mpi(3);
  run_over(mpi, {0, 1, 2}, [](MpiTransport& transport) {
    if (transport.rank() == 1) {
      transport.announce_failure("text.de: " + std::string(5000, 'x'));
    }
    EXPECT_THAT(failure_of_waiting(transport), testing::StartsWith("rank 1 of 3: text.de: xxx"));
    EXPECT_EQ(transport.failure()->kind, RankFailure::Kind::error);
    transport.begin_end();
    transport.wait_until_all_ended_after_failure();
  });
}

TEST(MpiTransport, OfSeveralErrorsTheFirstStays) {
  FakeMpi mpi(2);
  MpiTransport transport(mpi.table(0), kTimes, [](const RankFailure&) {});
  transport.announce_failure("first");
  transport.announce_failure("second");
  EXPECT_EQ(transport.failure()->message, "rank 0 of 2: first");
}

void expect_lost(MpiTransport& transport, int rank) {
  for (const double until = seconds_now() + 10.0; seconds_now() < until && !transport.is_lost(rank);) {
    sleep_for_seconds(0.01);
  }
  EXPECT_TRUE(transport.is_lost(rank)) << rank;
}

TEST(MpiTransport, TheJobGoesOnWithoutLostRanks) {
  FakeMpi mpi(4);
  run_over(mpi, {0, 2}, [](MpiTransport& transport) {
    transport.tolerate_losses();
    expect_lost(transport, 1);
    expect_lost(transport, 3);
    // Those that are left listen to each other.
    sleep_for_seconds(2.0 * kTimes.silence);
    EXPECT_FALSE(transport.failure() || transport.is_lost(0) || transport.is_lost(2));
    if (transport.rank() == 0) {
      expect_lost(transport, 2);
      EXPECT_TRUE(transport.wait_until_all_ended());
    }
  });
}

TEST(MpiTransport, TheFirstRankCannotBeLost) {
  FakeMpi mpi(2);
  run_over(mpi, {1}, [](MpiTransport& transport) {
    transport.tolerate_losses();
    EXPECT_EQ(failure_of_waiting(transport), "rank 0 of 2: has not answered for 0.5 s");
  });
}

TEST(MpiTransport, AnErrorOfMpiNamesTheRank) {
  FakeMpi mpi(2);
  MpiTransport transport(mpi.table(1), kTimes, [](const RankFailure&) {});
  mpi.break_test(1);
  EXPECT_THAT(failure_of_waiting(transport), HasSubstr("MPI failed to test (error 15)"));
}

TEST(MpiTransport, ARankThatComputesOnAfterAFailureIsEnded) {
  FakeMpi mpi(2);
  std::atomic<int> ended{0};
  run_over(
      mpi, {0, 1},
      [](MpiTransport& transport) {
        if (transport.rank() == 1) {
          transport.announce_failure("text.de: broken");
          EXPECT_TRUE(transport.begin_end());
        }
        sleep_for_seconds(3.0 * kTimes.busy);
        EXPECT_EQ(transport.begin_end(), false);
      },
      [&](const RankFailure& failure) {
        EXPECT_EQ(failure.message, "rank 1 of 2: text.de: broken");
        ++ended;
      });
  EXPECT_EQ(ended, 1);
}

TEST(MpiTransport, TheEndWaitsForAll) {
  FakeMpi mpi(3);
  std::atomic<int> here{0};
  run_over(mpi, {0, 1, 2}, [&](MpiTransport& transport) {
    sleep_for_seconds(0.1 * transport.rank());
    ++here;
    EXPECT_TRUE(transport.wait_until_all_ended());
    EXPECT_EQ(here, 3);
  });
}

TEST(MpiTransport, AfterAFailureTheEndWaitsForAWhile) {
  FakeMpi mpi(2);
  MpiTransport transport(mpi.table(0), kTimes, [](const RankFailure&) {});
  transport.announce_failure("broken");
  transport.begin_end();
  EXPECT_FALSE(transport.wait_until_all_ended());
  const double began = seconds_now();
  EXPECT_FALSE(transport.wait_until_all_ended_after_failure());
  EXPECT_GE(seconds_now() - began, kTimes.ending);
}

TEST(MpiTransport, OneRankPrintsAndTheOthersKnow) {
  FakeMpi mpi(2);
  run_over(mpi, {0, 1}, [](MpiTransport& transport) {
    transport.announce_failure("broken");
    transport.begin_end();
    if (transport.rank() == 0) {
      transport.say_printed();
    } else {
      EXPECT_TRUE(transport.wait_until_printed(5.0));
    }
    transport.wait_until_all_ended_after_failure();
  });
  MpiTransport alone(mpi.table(1), kTimes, [](const RankFailure&) {});
  EXPECT_FALSE(alone.wait_until_printed(0.01));
}

TEST(MpiTransport, AMessageThatIsGivenUpEndsBeforeItsMemoryGoes) {
  FakeMpi mpi(2);
  MpiTransport transport(mpi.table(0), kTimes, [](const RankFailure&) {});
  {
    std::vector<std::byte> memory(8);
    const Transfer given_up = transport.receive(1, {0, Channel::state}, memory);
  }
  EXPECT_EQ(mpi.open_receives(), 0);
}

constexpr size_t kMegabyte = size_t{1} << 20;
constexpr int kMany = 5;

// Ranks 0 and 1, and messages of a megabyte from the first to the second, each full of its number.
class LargeMessages : public testing::Test {
 protected:
  LargeMessages() {
    mpi_.hold_sends(true);
    for (int i = 0; i < kMany; ++i) {
      memory_[static_cast<size_t>(i)].assign(kMegabyte, static_cast<std::byte>(i));
    }
  }
  ~LargeMessages() override { mpi_.hold_sends(false); }

  void share_memory() {
    std::thread other([this] { second_.share_memory(SharedMessages::connect(Ranks(second_), MemorySharing::on)); });
    first_.share_memory(SharedMessages::connect(Ranks(first_), MemorySharing::on));
    other.join();
  }

  Transfer send(int i, Channel channel = Channel::weights) {
    return first_.send(1, {0, channel}, memory_[static_cast<size_t>(i)]);
  }
  size_t begun(Channel channel = Channel::weights) { return mpi_.letters(1, mpi_tag({0, channel})); }
  int next_received() {
    std::vector<std::byte> memory(kMegabyte);
    second_.receive(0, {0, Channel::weights}, memory).wait();
    return static_cast<int>(memory.front());
  }

  FakeMpi mpi_{2};
  MpiTransport first_{mpi_.table(0), kTimes, [](const RankFailure&) {}};
  MpiTransport second_{mpi_.table(1), kTimes, [](const RankFailure&) {}};
  std::array<std::vector<std::byte>, kMany> memory_;
};

TEST_F(LargeMessages, MpiHasTwoMegabytesOfAChannelAtATime) {
  std::vector<Transfer> sent;
  for (int i = 0; i < kMany; ++i) {
    sent.push_back(send(i));
  }
  EXPECT_EQ(begun(), 2U);
  const Transfer other = send(0, Channel::state);
  EXPECT_EQ(begun(Channel::state), 1U);
  for (Transfer& transfer : sent) {
    EXPECT_FALSE(transfer.is_done());
  }
  EXPECT_EQ(begun(), 2U);
  mpi_.hold_sends(false);
}

TEST_F(LargeMessages, ThoseThatWaitLeaveInOrderWhileTheSenderComputes) {
  std::vector<Transfer> sent;
  for (int i = 0; i < kMany; ++i) {
    sent.push_back(send(i));
  }
  mpi_.hold_sends(false);
  for (int i = 0; i < kMany; ++i) {
    EXPECT_EQ(next_received(), i);
  }
  for (Transfer& transfer : sent) {
    EXPECT_TRUE(transfer.is_done());
  }
}

TEST_F(LargeMessages, OneThatIsGivenUpBeforeItLeftIsNeverSent) {
  std::vector<Transfer> sent;
  for (int i = 0; i + 1 < kMany; ++i) {
    sent.push_back(send(i));
  }
  sent.erase(sent.begin() + 2);
  mpi_.hold_sends(false);
  EXPECT_EQ((std::array{next_received(), next_received(), next_received()}), (std::array{0, 1, 3}));
}

TEST_F(LargeMessages, OneThatIsLargerThanAllThatMpiTakesGoesAlone) {
  memory_[0].resize(3 * kMegabyte);
  const Transfer large = send(0), small = send(1);
  EXPECT_EQ(begun(), 1U);
  mpi_.hold_sends(false);
}

TEST_F(LargeMessages, BetweenRanksOfOneMachineBypassMpi) {
  share_memory();
  std::vector<Transfer> sent;
  for (int i = 0; i < kMany; ++i) {
    sent.push_back(send(i));
  }
  EXPECT_EQ(begun(), 0U);
  for (int i = 0; i < kMany; ++i) {
    EXPECT_EQ(next_received(), i);
  }
  for (Transfer& transfer : sent) {
    transfer.wait();
  }
}

TEST_F(LargeMessages, SmallOnesAndThoseOfUnknownSizeAreLeftToMpi) {
  share_memory();
  const std::vector<std::byte> small(100);
  const Transfer weights = first_.send(1, {0, Channel::weights}, small), results = send(0, Channel::results);
  EXPECT_EQ(begun(), 1U);
  EXPECT_TRUE(second_.find_arrival(0, {0, Channel::results}).has_value());
  mpi_.hold_sends(false);
}

// The transports' threads move them: asking once moves no more than 4 MiB.
TEST_F(LargeMessages, InSharedMemoryAreCopiedWhileBothRanksCompute) {
  share_memory();
  std::vector<std::byte> large(20 * kMegabyte, std::byte{7}), received(large.size());
  Transfer out = first_.send(1, {0, Channel::weights}, large);
  Transfer in = second_.receive(0, {0, Channel::weights}, received);
  sleep_for_seconds(2.0);
  EXPECT_TRUE(in.is_done());
  EXPECT_TRUE(out.is_done());
  EXPECT_EQ(received, large);
}

TEST_F(LargeMessages, AbandonedInSharedMemoryLeaveNothingBehind) {
  share_memory();
  std::vector<std::byte> memory(20 * kMegabyte);
  { const Transfer given_up = second_.receive(0, {0, Channel::state}, memory); }
  { const Transfer given_up = first_.send(1, {0, Channel::state}, memory); }
  EXPECT_THROW(first_.send(1, {0, Channel::state}, memory), RankError);
}

}  // namespace
}  // namespace heed
