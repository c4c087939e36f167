#include "ranks/shared_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/errors.h"
#include "ranks/thread_transport.h"

namespace heed {
namespace {

using Chunk = std::vector<std::string>;
using Work = SharedWork<Chunk, Chunk>;

// Chunks "0", "1", ..., each with an empty text after the number.
auto numbers_below(int64_t end) {
  return [end, next = int64_t{0}]() mutable -> std::optional<Chunk> {
    return next < end ? std::optional(Chunk{std::to_string(next++), ""}) : std::nullopt;
  };
}

class SharedWorkOfEachCount : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, SharedWorkOfEachCount, testing::Values(1, 2, 5));

TEST_P(SharedWorkOfEachCount, ResultsComeInOrderWhoeverWorkedOnThem) {
  std::vector<std::string> taken;
  run_thread_ranks(GetParam(), [&](Transport& transport) {
    const Ranks ranks(transport);
    share_work(ranks,
               Work{.next = numbers_below(ranks.is_first() ? 50 : 0),
                    .work =
                        [](const Chunk& chunk) {
                          EXPECT_EQ(chunk.back(), "");
                          // Earlier chunks take longer.
                          std::this_thread::sleep_for(std::chrono::microseconds(100 * (50 - std::stoi(chunk[0]))));
                          return Chunk{chunk[0] + "!"};
                        },
                    .take = [&](const Chunk& results) { taken.push_back(results.at(0)); }});
  });
  ASSERT_EQ(taken.size(), 50u);
  for (size_t i = 0; i < taken.size(); ++i) {
    EXPECT_EQ(taken[i], std::to_string(i) + "!");
  }
}

TEST_P(SharedWorkOfEachCount, NoWorkEndsAtOnce) {
  run_thread_ranks(GetParam(), [&](Transport& transport) {
    share_work(Ranks(transport), Work{.next = numbers_below(0),
                                      .work = [](const Chunk& chunk) { return chunk; },
                                      .take = [](const Chunk&) { ADD_FAILURE(); }});
  });
}

TEST(SharedWork, AllRanksWork) {
  std::vector<std::atomic<int>> worked(3);
  run_thread_ranks(3, [&](Transport& transport) {
    share_work(Ranks(transport), Work{.next = numbers_below(60),
                                      .work =
                                          [&](const Chunk& chunk) {
                                            ++worked[static_cast<size_t>(transport.rank())];
                                            std::this_thread::sleep_for(std::chrono::milliseconds(2));
                                            return chunk;
                                          },
                                      .take = [](const Chunk&) {}});
  });
  for (const std::atomic<int>& count : worked) {
    EXPECT_GE(count, 5);
  }
}

// What goes wrong where, and whose error comes out.
void fail_in(const std::string& part, int rank) {
  run_thread_ranks(3, [&](Transport& transport) {
    const auto maybe_fail = [&, calls = std::make_shared<std::atomic<int>>(0)](const std::string& in) {
      if (in == part && transport.rank() == rank && ++*calls == 3) {
        fail<FormatError>("line 7", "is broken");
      }
    };
    share_work(Ranks(transport), Work{.next =
                                          [&, numbers = numbers_below(200)]() mutable {
                                            maybe_fail("next");
                                            return numbers();
                                          },
                                      .work =
                                          [&](const Chunk& chunk) {
                                            maybe_fail("work");
                                            std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                            return chunk;
                                          },
                                      .take = [&](const Chunk&) { maybe_fail("take"); }});
  });
}

TEST(SharedWork, ErrorsEndAllRanks) {
  EXPECT_THROW(fail_in("next", 0), FormatError);
  EXPECT_THROW(fail_in("take", 0), FormatError);
  EXPECT_THROW(fail_in("work", 0), FormatError);
  EXPECT_THROW(fail_in("work", 2), FormatError);
}

}  // namespace
}  // namespace heed
