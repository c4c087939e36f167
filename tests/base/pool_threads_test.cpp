#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/errors.h"
#include "base/system/threads.h"

namespace heed {
namespace {

class ThreadsPool : public ::testing::TestWithParam<int> {};

TEST_P(ThreadsPool, EveryTaskRunsExactlyOnce) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.threads(), GetParam());
  for (const int64_t tasks : {0, 1, 2, 3, 7, 8, 64, 1000, 20000}) {
    std::vector<int> runs(static_cast<size_t>(tasks), 0);  // plain: two runs of one task would be a race
    pool.run(tasks, [&](int64_t task, int worker) {
      ASSERT_GE(worker, 0);
      ASSERT_LT(worker, GetParam());
      ++runs[static_cast<size_t>(task)];
    });
    for (const int count : runs) {
      ASSERT_EQ(count, 1);
    }
  }
}

TEST_P(ThreadsPool, ManyRoundsSeeEachOthersResults) {
  // Each round reads what the one before wrote, in another order: a round that ends too early, or a task of a former
  // round that runs late, shows as a wrong sum.
  ThreadPool pool(GetParam());
  constexpr int64_t kTasks = 13;
  std::vector<int64_t> from(kTasks), to(kTasks, 0);
  std::iota(from.begin(), from.end(), 0);
  for (int64_t round = 1; round <= 3000; ++round) {
    pool.run(kTasks, [&](int64_t task, int) {
      to[static_cast<size_t>(task)] = from[static_cast<size_t>((task + 5) % kTasks)] + 1;
    });
    from.swap(to);
  }
  std::set<int64_t> values(from.begin(), from.end());
  EXPECT_EQ(values.size(), static_cast<size_t>(kTasks));
  EXPECT_EQ(*values.begin(), 3000);
  EXPECT_EQ(*values.rbegin(), 3000 + kTasks - 1);
}

TEST_P(ThreadsPool, ANarrowedPoolRunsOnFewerThreads) {
  ThreadPool pool(GetParam());
  const std::thread::id caller = std::this_thread::get_id();
  for (int round = 0; round < 200; ++round) {
    pool.use_threads(1);
    std::vector<int> runs(64, 0);
    pool.run(64, [&](int64_t task, int worker) {
      EXPECT_EQ(worker, 0);
      EXPECT_EQ(std::this_thread::get_id(), caller);
      ++runs[static_cast<size_t>(task)];
    });
    pool.use_threads(1 + round % 5);  // more than there are: all
    pool.run(64, [&](int64_t task, int) { ++runs[static_cast<size_t>(task)]; });
    EXPECT_THAT(runs, testing::Each(2));
  }
  pool.use_threads(1);  // the others sleep when the pool ends
}

TEST_P(ThreadsPool, RoundsOfDifferentSizesAndBodies) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 2000; ++round) {
    const int64_t tasks = round * 7 % 29;
    std::atomic<int64_t> sum = 0;
    if (round % 2 == 0) {
      pool.run(tasks, [&sum](int64_t task, int) { sum += task + 1; });
    } else {
      pool.run(tasks, [&sum, round](int64_t task, int) { sum += (task + 1) * round; });
    }
    ASSERT_EQ(sum, tasks * (tasks + 1) / 2 * (round % 2 == 0 ? 1 : round));
  }
}

TEST_P(ThreadsPool, NoTwoTasksShareAWorkerAtOnce) {
  ThreadPool pool(GetParam());
  std::vector<int64_t> per_worker(static_cast<size_t>(GetParam()), 0);  // plain: sharing would be a race
  for (int round = 0; round < 200; ++round) {
    pool.run(50, [&](int64_t, int worker) { ++per_worker[static_cast<size_t>(worker)]; });
  }
  EXPECT_EQ(std::accumulate(per_worker.begin(), per_worker.end(), int64_t{0}), 200 * 50);
}

TEST_P(ThreadsPool, AWorkerStartsWithItsOwnShare) {
  // Every task waits for the others to begin, so each worker runs one. One that still looks for work of the round
  // before may begin elsewhere: a pause between rounds makes that rare, not impossible.
  constexpr int kRounds = 20;
  ThreadPool pool(GetParam());
  std::barrier together(GetParam());
  int as_shared_out = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::atomic<int> own = 0;
    pool.run(GetParam(), [&](int64_t task, int worker) {
      together.arrive_and_wait();
      own += task == worker ? 1 : 0;
    });
    as_shared_out += own == GetParam() ? 1 : 0;
  }
  EXPECT_GT(as_shared_out, kRounds / 2);
}

TEST_P(ThreadsPool, ACallFromWithinATaskRunsSeriallyAsThatWorker) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 50; ++round) {
    std::atomic<int64_t> inner_tasks = 0;
    pool.run(10, [&](int64_t, int worker) {
      const auto thread = std::this_thread::get_id();
      int64_t next = 0;
      pool.run(5, [&](int64_t inner, int inner_worker) {
        EXPECT_EQ(inner, next++);
        EXPECT_EQ(inner_worker, worker);
        EXPECT_EQ(std::this_thread::get_id(), thread);
        ++inner_tasks;
      });
    });
    ASSERT_EQ(inner_tasks, 50);
  }
}

TEST_P(ThreadsPool, ACallFromAnotherPoolsTaskRunsSeriallyAsWorkerZero) {
  ThreadPool outer(4);
  std::vector<std::unique_ptr<ThreadPool>> inner;
  for (int worker = 0; worker < outer.threads(); ++worker) {
    inner.push_back(std::make_unique<ThreadPool>(GetParam()));
  }
  std::atomic<int64_t> inner_tasks = 0;
  outer.run(40, [&](int64_t, int worker) {
    inner[static_cast<size_t>(worker)]->run(5, [&](int64_t, int inner_worker) {
      EXPECT_EQ(inner_worker, 0);
      ++inner_tasks;
    });
  });
  EXPECT_EQ(inner_tasks, 200);
}

TEST_P(ThreadsPool, AnExceptionReachesTheCallerAfterTheOthersRan) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> ran = 0;
    std::string found;
    try {
      pool.run(20, [&](int64_t task, int) {
        ++ran;
        if (task == round % 20) {
          fail<ConfigError>("task", "{}", task);
        }
      });
    } catch (const ConfigError& error) {
      found = error.what();
    }
    ASSERT_EQ(found, "task: " + std::to_string(round % 20));
    ASSERT_EQ(ran, 20);
    // And the pool still works.
    std::atomic<int> after = 0;
    pool.run(20, [&](int64_t, int) { ++after; });
    ASSERT_EQ(after, 20);
  }
}

TEST_P(ThreadsPool, WhenAllTasksThrowOneExceptionIsRethrown) {
  ThreadPool pool(GetParam());
  EXPECT_THROW(pool.run(30, [](int64_t, int) { throw std::runtime_error("each"); }), std::runtime_error);
  EXPECT_NO_THROW(pool.run(30, [](int64_t, int) {}));
}

TEST_P(ThreadsPool, SleepingWorkersWakeUp) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int> ran = 0;
    pool.run(GetParam(), [&](int64_t, int) {
      ++ran;
      // Goes on only when all workers have arrived.
      while (ran < GetParam()) {
        std::this_thread::yield();
      }
    });
    EXPECT_EQ(ran, GetParam());
  }
}

TEST_P(ThreadsPool, EveryUnevenTaskRunsOnce) {
  ThreadPool pool(GetParam());
  std::vector<int> runs(40, 0);
  pool.run(40, [&](int64_t task, int) {
    std::this_thread::sleep_for(std::chrono::microseconds(task % 7 == 0 ? 2000 : 10));
    ++runs[static_cast<size_t>(task)];
  });
  EXPECT_THAT(runs, testing::Each(1));
}

TEST_P(ThreadsPool, CanBeCreatedAndDestroyedOften) {
  for (int round = 0; round < 100; ++round) {
    ThreadPool pool(GetParam());
    if (round % 2 == 0) {
      std::atomic<int> ran = 0;
      pool.run(9, [&](int64_t, int) { ++ran; });
      ASSERT_EQ(ran, 9);
    }
  }
}

TEST_P(ThreadsPool, PoolsOfDifferentCallersAreIndependent) {
  std::vector<std::thread> callers;
  callers.reserve(3);
  std::atomic<int64_t> total = 0;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&total] {
      ThreadPool pool(GetParam());
      for (int round = 0; round < 200; ++round) {
        pool.run(11, [&](int64_t, int) { ++total; });
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(total, 3 * 200 * 11);
}

INSTANTIATE_TEST_SUITE_P(Counts, ThreadsPool, ::testing::Range(1, 9));

TEST(ThreadsPoolShares, OthersHelpWithAShareThatHasNotBegun) {
  // The first task ends when all others have ended, those of its own share among them.
  constexpr int kTasks = 40;
  ThreadPool pool(4);
  std::atomic<int> others = 0;
  pool.run(kTasks, [&](int64_t task, int) {
    if (task > 0) {
      ++others;
      return;
    }
    while (others < kTasks - 1) {
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(others, kTasks - 1);
}

TEST(ThreadsPoolSizes, AreOneTo1024) {
  EXPECT_THROW(ThreadPool(0), ConfigError);
  EXPECT_THROW(ThreadPool(-1), ConfigError);
  EXPECT_THROW(ThreadPool(1025), ConfigError);
  ThreadPool pool(1);
  EXPECT_THROW(pool.run(-1, [](int64_t, int) {}), InternalError);
  EXPECT_THROW(pool.run(int64_t{1} << 31, [](int64_t, int) {}), InternalError);
  EXPECT_GE(available_processors(), 1);
}

}  // namespace
}  // namespace heed
