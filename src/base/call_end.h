// The end of a call, for which one thread waits and which another one announces.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace heed {

// Whoever announces it holds it with a shared pointer of its own: the thread that waits may go on, and destroy all that
// it has, before announce() returns. Each call has its own: with one for all, every end would wake all that wait.
class CallEnd {
 public:
  void announce() {
    {
      const std::lock_guard lock(mutex_);
      has_come_ = true;
    }
    came_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [this] { return has_come_; });
  }
  bool has_come() const {
    const std::lock_guard lock(mutex_);
    return has_come_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable came_;
  bool has_come_ = false;
};

// Announces what was added when it is destroyed: declared before a lock, it does so when the mutex is free again.
class EndedCalls {
 public:
  EndedCalls() = default;
  ~EndedCalls() {
    for (const std::shared_ptr<CallEnd>& one : ends_) {
      one->announce();
    }
  }
  EndedCalls(const EndedCalls&) = delete;
  EndedCalls& operator=(const EndedCalls&) = delete;

  void add(std::shared_ptr<CallEnd> end) { ends_.push_back(std::move(end)); }

 private:
  std::vector<std::shared_ptr<CallEnd>> ends_;
};

}  // namespace heed
