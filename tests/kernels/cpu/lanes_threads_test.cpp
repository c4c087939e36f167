#include "kernels/lanes.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "kernels/cpu/cpu_backend.h"

namespace heed {
namespace {

TEST(Lanes, TheFirstExceptionIsRethrownAfterTheOthersRan) {
  const auto backend = make_cpu_backend(3);
  Lanes lanes(*backend);
  for (const size_t tasks : {size_t{1}, size_t{20}}) {
    std::atomic<size_t> ran{0};
    EXPECT_THROW(lanes.run(tasks,
                           [&](size_t task, Backend&) {
                             ++ran;
                             require<FormatError>(task % 2 == 1, "task", "{}", task);
                           }),
                 FormatError);
    EXPECT_EQ(ran, tasks);
  }
}

TEST(Lanes, TasksRunBetweenTurnsThatGoOn) {
  const auto backend = make_cpu_backend(2);
  std::atomic<bool> goes_on{true};
  std::atomic<int> turns{0};
  Lanes lanes(*backend, [&](size_t, Backend&) {
    ++turns;
    turns.notify_all();
    return goes_on.load();
  });
  lanes.call_turns();
  turns.wait(0);
  std::atomic<int> ran{0};
  lanes.run(20, [&](size_t, Backend&) { ++ran; });
  EXPECT_EQ(ran, 20);
  const int before = turns;
  turns.wait(before);
  EXPECT_GT(turns, before) << "the turns go on";
  goes_on = false;
}

TEST(Lanes, EachCallGivesEachLaneATurn) {
  const auto backend = make_cpu_backend(3);
  std::array<std::atomic<int>, 3> turns{};
  Lanes lanes(*backend, [&](size_t lane, Backend& own) {
    EXPECT_EQ(own.threads(), 1);
    ++turns[lane];
    turns[lane].notify_all();
    return false;
  });
  lanes.call_turns();
  for (std::atomic<int>& of_lane : turns) {
    of_lane.wait(0);
    EXPECT_EQ(of_lane, 1);
  }
  lanes.call_turns();
  for (std::atomic<int>& of_lane : turns) {
    of_lane.wait(1);
    EXPECT_EQ(of_lane, 2);
  }
}

}  // namespace
}  // namespace heed
