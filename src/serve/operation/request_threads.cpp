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
    for (const std::shared_ptr<Idle>& idle : idle_) {
      idle->work_came.notify_one();
    }
  }
  wake();
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
    to_wake_.push_back(std::move(idle_.back()));
    idle_.pop_back();
  } else if (!start_thread(work)) {
    return false;
  }
  ++working_;
  const bool is_first_to_wake = to_wake_.size() == 1;
  std::vector<std::thread> ended = std::exchange(ended_, {});
  lock.unlock();
  if (soon_ == nullptr) {
    wake();
  } else if (is_first_to_wake) {
    soon_([this] { wake(); });
  }
  for (std::thread& thread : ended) {
    thread.join();
  }
  return true;
}

void RequestThreads::wake() {
  std::vector<std::shared_ptr<Idle>> woken;
  {
    const std::lock_guard lock(mutex_);
    woken.swap(to_wake_);
  }
  for (const std::shared_ptr<Idle>& idle : woken) {  // unlocked, else a thread that wakes would wait again
    idle->work_came.notify_one();
  }
}

// False where the process may have no more threads.
bool RequestThreads::start_thread(Work& first) {
  try {
    idle_.reserve(threads_.size() + 1);  // so that a thread that becomes idle needs no memory
    std::thread thread([this, work = std::move(first)]() mutable { serve_thread(std::move(work)); });
    const std::thread::id id = thread.get_id();
    threads_.emplace(id, std::move(thread));
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void RequestThreads::serve_thread(Work work) {
  const auto self = std::make_shared<Idle>();
  while (work) {
    work();
    work = nullptr;  // it may have held the last of a model, whose end takes time
    std::unique_lock lock(mutex_);
    --working_;
    wait_for_work(lock, self);
    work = std::exchange(self->work, nullptr);
  }
  const std::lock_guard lock(mutex_);
  const auto thread = threads_.find(std::this_thread::get_id());
  if (thread != threads_.end()) {  // else the destructor has it
    ended_.push_back(std::move(thread->second));
    threads_.erase(thread);
  }
}

// There may be none after a while.
void RequestThreads::wait_for_work(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Idle>& self) {
  idle_.push_back(self);
  self->work_came.wait_for(lock, idle_time_, [&] { return stopping_ || self->work; });
  std::erase(idle_, self);
}

}  // namespace heed::serve
