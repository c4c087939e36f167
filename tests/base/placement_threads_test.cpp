#include "base/system/placement.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/system/threads.h"

namespace heed {
namespace {

int processors_of(pthread_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  pthread_getaffinity_np(thread, sizeof set, &set);
  return CPU_COUNT(&set);
}

TEST(ThreadsPlacement, MovesHereAndAway) {
  if (processors_of(pthread_self()) < 2) {
    GTEST_SKIP() << "needs two processors";
  }
  std::atomic<bool> stop{false};
  std::thread sleeper([&] { stop.wait(false); });
  Placement placement;
  placement.add(sleeper.native_handle());
  bool still = false;  // it takes a moment to fall asleep
  for (int look = 0; look < 1'000'000 && !still; ++look) {
    still = placement.is_stalled(0);
  }
  EXPECT_TRUE(still);
  placement.move_here(0);
  EXPECT_EQ(processors_of(sleeper.native_handle()), 1);
  placement.move_away(0);
  EXPECT_EQ(processors_of(sleeper.native_handle()), processors_of(pthread_self()) - 1);
  stop = true;
  stop.notify_all();
  sleeper.join();
}

TEST(ThreadsPlacement, ARunningThreadIsNotStalled) {
  std::atomic<bool> stop{false};
  std::thread runner([&] {
    while (!stop.load()) {
    }
  });
  Placement placement;
  placement.add(runner.native_handle());
  bool ran = false;  // the system may hold it up for a while, not for ever
  for (int look = 0; look < 1'000'000 && !ran; ++look) {
    ran = !placement.is_stalled(0);
  }
  stop = true;
  runner.join();
  EXPECT_TRUE(ran);
}

TEST(ThreadsPlacement, APoolNextToSpinningThreadsRunsEveryTask) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> neighbours;
  for (int i = 0; i < available_processors(); ++i) {
    neighbours.emplace_back([&] {
      while (!stop.load()) {
      }
    });
  }
  ThreadPool pool(available_processors() + 1);
  std::vector<int> runs(8, 0);
  constexpr int kRounds = 400;
  for (int round = 0; round < kRounds; ++round) {
    pool.run(static_cast<int64_t>(runs.size()), [&](int64_t task, int) {
      volatile int work = 0;
      for (int i = 0; i < 20'000; ++i) {
        work = work + i;
      }
      ++runs[static_cast<size_t>(task)];
    });
  }
  stop = true;
  for (std::thread& neighbour : neighbours) {
    neighbour.join();
  }
  EXPECT_EQ(runs, std::vector<int>(8, kRounds));
}

// How long the calling thread's turns are, in ns; 0 where the system does not say.
uint64_t turn_of_this_thread() {
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes{};
  const long failed = syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0);
  return failed != 0 ? 0 : attributes.runtime;
}

// In a thread of its own: what it asks for is its own matter, and not that of the threads that it starts.
TEST(ThreadsPlacement, ShortTurnsAreThoseOfTheThreadThatAsksAlone) {
  std::thread([] {
    const int nice = getpriority(PRIO_PROCESS, 0);
    const uint64_t usual = turn_of_this_thread();
    prefer_short_turns();
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), nice);
    EXPECT_LE(turn_of_this_thread(), usual);
    std::thread([&] {
      EXPECT_EQ(turn_of_this_thread(), usual);
      EXPECT_EQ(getpriority(PRIO_PROCESS, 0), nice);
    }).join();
  }).join();
}

}  // namespace
}  // namespace heed
