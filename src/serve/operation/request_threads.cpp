#include "serve/operation/request_threads.h"

#include <system_error>
#include <utility>

namespace heed::serve {
namespace {

constexpr std::chrono::seconds kIdleTime{20};

}  // namespace

RequestThreads::~RequestThreads() {
  std::unordered_map<std::thread::id, std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    threads = std::move(threads_);
  }
  work_came_.notify_all();
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

bool RequestThreads::try_run(std::function<void()> work) {
  std::unique_lock lock(mutex_);
  if (working_ >= most_ || stopping_) {
    return false;
  }
  ++working_;
  work_.push_back(std::move(work));
  const bool has_thread = idle_ >= static_cast<int64_t>(work_.size());
  if (!has_thread && !start_thread()) {
    work_.pop_back();
    --working_;
    return false;
  }
  std::vector<std::thread> ended = std::exchange(ended_, {});
  lock.unlock();  // else a thread that wakes would wait again
  if (has_thread) {
    work_came_.notify_one();
  }
  for (std::thread& thread : ended) {
    thread.join();
  }
  return true;
}

// False where the process may have no more threads.
bool RequestThreads::start_thread() {
  try {
    std::thread thread([this] { serve_thread(); });
    const std::thread::id id = thread.get_id();
    threads_.emplace(id, std::move(thread));
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void RequestThreads::serve_thread() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (work_.empty()) {
      ++idle_;
      const bool has_work = work_came_.wait_for(lock, kIdleTime, [this] { return stopping_ || !work_.empty(); });
      --idle_;
      if (!has_work || work_.empty()) {
        break;
      }
    }
    std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // it may have held the last of a model, whose end takes time
    lock.lock();
    --working_;
  }
  const auto self = threads_.find(std::this_thread::get_id());
  if (self != threads_.end()) {  // else the destructor has it
    ended_.push_back(std::move(self->second));
    threads_.erase(self);
  }
}

}  // namespace heed::serve
