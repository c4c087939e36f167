#include "kernels/lanes.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

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
    EXPECT_EQ(own.threads(), lane == 0 ? 3 : 1) << "the first lane has the backend of all threads";
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

TEST(Lanes, AreOnlyCalledAsFarAsTheyAreWanted) {
  const auto backend = make_cpu_backend(3);
  std::array<std::atomic<int>, 3> turns{};
  {
    Lanes lanes(*backend, [&](size_t lane, Backend&) {
      ++turns[lane];
      turns[lane].notify_all();
      return false;
    });
    lanes.call_turns(1);
    turns[0].wait(0);
  }
  EXPECT_EQ(turns[0], 1);
  EXPECT_EQ(turns[1] + turns[2], 0);
}

TEST(Lanes, AnInterruptedCallGivesUpTheTasksThatHaveNotBegun) {
  for (const int threads : {1, 2}) {
    const auto backend = make_cpu_backend(threads);
    Lanes lanes(*backend);
    std::stop_source stop;
    std::atomic<int> ran{0};
    const auto body = [&](size_t task, Backend&) {
      ++ran;
      if (task == 3) {
        stop.request_stop();
      }
    };
    EXPECT_THROW(lanes.run(100, body, {.stop = stop.get_token()}), InterruptedError);
    EXPECT_LT(ran, 10);
    lanes.run(5, [&](size_t, Backend&) { ++ran; });  // others go on
    EXPECT_LT(ran, 15);
  }
}

TEST(Lanes, CallsOfSeveralClientsTakeTurns) {
  const auto backend = make_cpu_backend(2);
  Lanes lanes(*backend);
  std::atomic<int> of_first{0}, first_before_second{-1};
  std::thread first([&] {
    lanes.run(400,
              [&](size_t, Backend&) {
                ++of_first;
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
              },
              {}, {.client = 1});
  });
  while (of_first < 4) {
    std::this_thread::yield();
  }
  lanes.run(2,
            [&](size_t task, Backend&) {
              if (task == 1) {
                first_before_second = of_first.load();
              }
            },
            {}, {.client = 2});
  EXPECT_LT(first_before_second, 300) << "the second call does not wait for the end of the first";
  first.join();
}

TEST(Lanes, ManyTasksOfOneLaneDoNotHoldUpItsTurns) {
  const auto backend = make_cpu_backend(1);
  std::atomic<int> turns{0}, ran{0}, ran_at_turn{0};
  Lanes lanes(*backend, [&](size_t, Backend&) {
    ran_at_turn = ran.load();
    ++turns;
    turns.notify_all();
    return false;
  });
  lanes.run(100, [&](size_t task, Backend&) {
    if (task == 3) {
      lanes.call_turns();
    } else if (task == 10) {
      EXPECT_EQ(turns, 1);
    }
    ++ran;
  });
  EXPECT_EQ(ran, 100);
  EXPECT_LT(ran_at_turn, 6);
}

// Workers that run tasks of a backend, however long these take.
size_t threads_that_work(Backend& backend) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  for (int round = 0; round < 20; ++round) {
    backend.run_on_lanes(32, [&](int64_t, Backend&) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
  }
  return seen.size();
}

TEST(Lanes, TurnsOfACallThatIsAloneRunOnItsOwnThreadUntilOthersCome) {
  const auto backend = make_cpu_backend(2);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> goes_on{true};
  std::atomic<int> turns{0}, of_caller{0}, of_second{0}, of_first{0};
  Lanes lanes(*backend, [&](size_t lane, Backend& own) {
    ++turns;
    const bool is_caller = std::this_thread::get_id() == caller;
    (is_caller ? of_caller : lane == 0 ? of_first : of_second)++;
    if (is_caller) {
      EXPECT_EQ(lane, 0U);
      EXPECT_EQ(threads_that_work(own), 2U);
    } else if (lane == 0 && of_second > 0 && goes_on) {
      EXPECT_EQ(threads_that_work(own), 1U) << "the other lane has the other processor";
    } else if (lane == 1) {
      of_second.notify_all();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    of_first.notify_all();
    return goes_on.load();
  });
  std::thread other([&] {
    while (of_caller < 3) {
      std::this_thread::yield();
    }
    lanes.call_turns();
  });
  lanes.take_turns([] { return true; });
  EXPECT_GE(of_caller, 3);
  const int taken = of_caller;
  of_first.wait(0);
  of_second.wait(0);
  while (of_first < 4) {
    std::this_thread::yield();
  }
  EXPECT_EQ(of_caller, taken) << "the lane took over";
  lanes.take_turns([] { return true; });
  EXPECT_EQ(of_caller, taken) << "nothing where others run";
  lanes.run(1, [&](size_t, Backend& own) { EXPECT_EQ(own.threads(), 1) << "the other backend is in use"; });
  goes_on = false;
  other.join();
}

TEST(Lanes, TurnsThatAreNotWantedAnyLongerGoOnInTheLane) {
  const auto backend = make_cpu_backend(2);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> of_caller{0}, of_lane{0};
  Lanes lanes(*backend, [&](size_t, Backend&) {
    (std::this_thread::get_id() == caller ? of_caller : of_lane)++;
    of_lane.notify_all();
    return of_lane < 5;
  });
  lanes.take_turns([] { return false; });
  of_lane.wait(0);
  EXPECT_EQ(of_caller, 1);
}

}  // namespace
}  // namespace heed
