#include "ranks/shared_memory/shared_messages.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/errors.h"
#include "ranks/thread_transport.h"

namespace heed {
namespace {

std::vector<uint32_t> numbers(size_t count, uint32_t first) {
  std::vector<uint32_t> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

SharedMessages::Message outgoing(int rank, int tag, const std::vector<uint32_t>& values) {
  return {.rank = rank, .tag = tag, .sent = std::as_bytes(std::span(values)), .received = {}};
}

SharedMessages::Message incoming(int rank, int tag, std::vector<uint32_t>& values) {
  return {.rank = rank, .tag = tag, .sent = {}, .received = std::as_writable_bytes(std::span(values))};
}

void finish(SharedMessages& messages, const std::vector<SharedMessages::Message>& all) {
  while (!std::ranges::all_of(all, &SharedMessages::Message::has_ended)) {
    messages.advance();
  }
}

TEST(SharedMessages, AllRanksOfAMachineReachEachOther) {
  run_thread_ranks(3, [](Transport& transport) {
    const auto messages = SharedMessages::connect(Ranks(transport), MemorySharing::on);
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(messages->sends_to(rank), rank != transport.rank());
      EXPECT_EQ(messages->receives_from(rank), rank != transport.rank());
    }
  });
}

TEST(SharedMessages, ARankThatSharesNothingIsLeftOut) {
  run_thread_ranks(3, [](Transport& transport) {
    const bool shares = transport.rank() != 1;
    const auto messages = SharedMessages::connect(Ranks(transport), shares ? MemorySharing::on : MemorySharing::off);
    ASSERT_EQ(messages != nullptr, shares);
    if (shares) {
      EXPECT_TRUE(messages->sends_to(2 - transport.rank()));
      EXPECT_FALSE(messages->sends_to(1) || messages->receives_from(1));
    }
  });
}

TEST(SharedMessages, ASingleRankHasNone) { EXPECT_EQ(SharedMessages::connect(Ranks(), MemorySharing::on), nullptr); }

// Far more than the rings hold, both ways at once, with two tags.
TEST(SharedMessages, ArriveWholeAndInOrder) {
  run_thread_ranks(2, [](Transport& transport) {
    const auto messages = SharedMessages::connect(Ranks(transport), MemorySharing::on);
    const int other = 1 - transport.rank();
    const std::vector<size_t> counts{1, 70'000, 5'000'000, 3, 900'000};
    std::vector<std::vector<uint32_t>> sent, received;
    std::vector<SharedMessages::Message> all;
    all.reserve(4 * counts.size());
    sent.reserve(2 * counts.size());
    received.reserve(2 * counts.size());
    for (size_t i = 0; i < 2 * counts.size(); ++i) {
      const size_t count = counts[i / 2];
      const int tag = static_cast<int>(i % 2);
      all.push_back(outgoing(other, tag, sent.emplace_back(numbers(count, static_cast<uint32_t>(i)))));
      all.push_back(incoming(other, tag, received.emplace_back(count)));
    }
    for (SharedMessages::Message& message : all) {
      messages->begin(message);
    }
    finish(*messages, all);
    EXPECT_EQ(received, sent);
  });
}

TEST(SharedMessages, AMessageAbandonedBeforeItIsSentNeverArrives) {
  run_thread_ranks(2, [](Transport& transport) {
    const Ranks ranks(transport);
    const auto messages = SharedMessages::connect(ranks, MemorySharing::on);
    const std::vector<uint32_t> large = numbers(2'000'000, 1), lost = numbers(10, 2), small = numbers(10, 3);
    if (ranks.is_first()) {
      std::vector<SharedMessages::Message> all{outgoing(1, 0, large), outgoing(1, 0, small)};
      SharedMessages::Message given_up = outgoing(1, 0, lost);
      messages->begin(all[0]);
      messages->begin(given_up);
      messages->begin(all[1]);
      messages->abandon(given_up);
      ranks.barrier();
      finish(*messages, all);
    } else {
      ranks.barrier();
      std::vector<uint32_t> first(large.size()), second(small.size());
      std::vector<SharedMessages::Message> all{incoming(0, 0, first), incoming(0, 0, second)};
      messages->begin(all[0]);
      messages->begin(all[1]);
      finish(*messages, all);
      EXPECT_EQ(second, small);
    }
    ranks.barrier();
  });
}

TEST(SharedMessages, AMessageOfOneKindTooManyIsRefusedAndNotQueued) {
  run_thread_ranks(2, [](Transport& transport) {
    const Ranks ranks(transport);
    const auto messages = SharedMessages::connect(ranks, MemorySharing::on);
    const std::vector<uint32_t> sent = numbers(10, 1);
    for (int tag = 0; tag < SharedSection::kRings; ++tag) {
      SharedMessages::Message message = outgoing(1 - ranks.rank(), tag, sent);
      messages->begin(message);
      EXPECT_TRUE(message.has_ended);
    }
    {
      SharedMessages::Message refused = outgoing(1 - ranks.rank(), SharedSection::kRings, sent);
      EXPECT_THROW(messages->begin(refused), RankError);
    }
    EXPECT_NO_THROW(messages->advance());
  });
}

TEST(SharedMessages, NoMessageFollowsOneThatWasAbandonedHalfway) {
  run_thread_ranks(2, [](Transport& transport) {
    const Ranks ranks(transport);
    const auto messages = SharedMessages::connect(ranks, MemorySharing::on);
    if (ranks.is_first()) {
      const std::vector<uint32_t> large = numbers(2'000'000, 1);
      SharedMessages::Message half = outgoing(1, 0, large), next = outgoing(1, 0, large), other = outgoing(1, 1, large);
      messages->begin(half);
      messages->abandon(half);
      EXPECT_THROW(messages->begin(next), RankError);
      EXPECT_NO_THROW(messages->begin(other));
      messages->abandon(other);
    }
    ranks.barrier();
  });
}

}  // namespace
}  // namespace heed
