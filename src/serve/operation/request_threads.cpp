#include "serve/operation/request_threads.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace heed::serve {

RequestThreads::~RequestThreads() {
  std::unordered_map<std::thread::id, std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    threads = std::move(threads_);
    for (Idle* const idle : idle_) {
      idle->work_came.notify_one();
    }
  }
  for (auto& [_, thread] : threads) {
    thread.join();
  }
  for (std::thread& thread : ended_) {
    thread.join();
  }
}

int64_t RequestThreads::working() const {
  const std::lock_guard lock(mutex_);
  return working_;
}

int64_t RequestThreads::threads() const {
  const std::lock_guard lock(mutex_);
  return std::ssize(threads_);
}

bool RequestThreads::try_run(std::function<void()> work) {
  std::unique_lock lock(mutex_);
  if (working_ >= most_ || stopping_) {
    return false;
  }
  if (!idle_.empty()) {
    idle_.back()->work = std::move(work);
    idle_.back()->work_came.notify_one();
    idle_.pop_back();
  } else {
    try {
      idle_.reserve(threads_.size() + 1);  // so that a thread that becomes idle needs no memory
      std::thread thread([this, first = std::move(work)]() mutable { serve_thread(std::move(first)); });
      const std::thread::id id = thread.get_id();
      threads_.emplace(id, std::move(thread));
    } catch (const std::system_error&) {  // the process may have no more threads
      return false;
    }
  }
  ++working_;
  join_ended(lock);
  return true;
}

void RequestThreads::serve_thread(Work work) {
  while (work) {
    work();
    work = nullptr;  // it may have held the last of a model, whose end takes time
    std::unique_lock lock(mutex_);
    --working_;
    work = next_work(lock);
  }
  const std::lock_guard lock(mutex_);
  const auto self = threads_.find(std::this_thread::get_id());
  if (self != threads_.end()) {  // else the destructor has it
    ended_.push_back(std::move(self->second));
    threads_.erase(self);
  }
}

// None when none came for a while.
RequestThreads::Work RequestThreads::next_work(std::unique_lock<std::mutex>& lock) {
  Idle self;
  idle_.push_back(&self);
  self.work_came.wait_for(lock, idle_time_, [&] { return stopping_ || self.work; });
  std::erase(idle_, &self);
  return std::move(self.work);
}

void RequestThreads::join_ended(std::unique_lock<std::mutex>& lock) {
  std::vector<std::thread> ended = std::exchange(ended_, {});
  lock.unlock();
  for (std::thread& thread : ended) {
    thread.join();
  }
}

}  // namespace heed::serve
