#include "base/call_end.h"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <thread>

namespace heed {
namespace {

// The one that waits destroys its own at once: whoever announces must not touch what has gone.
TEST(CallEnds, EachIsAnnouncedOnceTheMutexIsFree) {
  std::mutex mutex;
  for (int round = 0; round < 1000; ++round) {
    auto end = std::make_shared<CallEnd>();
    std::thread announcer([&mutex, held = end] {
      EndedCalls ended;
      const std::lock_guard lock(mutex);
      ended.add(held);
      EXPECT_FALSE(held->has_come());
    });
    end->wait();
    EXPECT_TRUE(end->has_come());
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
    end.reset();
    announcer.join();
  }
}

}  // namespace
}  // namespace heed
