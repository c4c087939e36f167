// The end of a call, for which one thread waits and which another one announces.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

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
  friend class EndedCalls;

  mutable std::mutex mutex_;
  std::condition_variable came_;
  bool has_come_ = false;
  std::shared_ptr<CallEnd> next_ended_;  // of EndedCalls
};

// Announces what was added when it is destroyed: declared before a lock, it does so when the mutex is free again. It needs
// no memory, so that a call whose end has come always hears of it.
class EndedCalls {
 public:
  EndedCalls() = default;
  ~EndedCalls() {
    while (first_ != nullptr) {
      const std::shared_ptr<CallEnd> one = std::exchange(first_, std::move(first_->next_ended_));
      one->announce();
    }
  }
  EndedCalls(const EndedCalls&) = delete;
  EndedCalls& operator=(const EndedCalls&) = delete;

  void add(std::shared_ptr<CallEnd> end) {
    end->next_ended_ = std::move(first_);
    first_ = std::move(end);
  }

 private:
  std::shared_ptr<CallEnd> first_;
};

}  // namespace heed
