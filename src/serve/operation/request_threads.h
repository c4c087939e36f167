// Threads that answer requests: as many as there are requests, up to a limit.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heed::serve {

// Nothing waits here: an admitted request has a thread, which waits for its turn in the model's scheduler, where
// the order of turns is decided. The next request gets the thread that was last at work. Others end when they have had
// none for a while: so there are soon as few again as are needed, and the memory that each has is given back.
class RequestThreads {
 public:
  // Calls what it is given soon, in the thread that gives work.
  using Soon = std::function<void(std::function<void()> what)>;

  // A thread that is woken often takes the processor from the one that wakes it. Where there is `soon`, threads are woken
  // by it: one that gives the work of several requests has then given all of it.
  explicit RequestThreads(int64_t most, std::chrono::milliseconds idle_time = std::chrono::seconds(20),
                          Soon soon = nullptr)
      : most_(most), idle_time_(idle_time), soon_(std::move(soon)) {}
  ~RequestThreads();  // when all have returned
  RequestThreads(const RequestThreads&) = delete;
  RequestThreads& operator=(const RequestThreads&) = delete;

  // False, and nothing is done, when as many as allowed are at work, or the process may not have another thread. The
  // work must not throw.
  bool try_run(std::function<void()> work);
  int64_t working() const;
  int64_t threads() const;  // idle ones included

 private:
  using Work = std::function<void()>;
  // A thread that waits.
  struct Idle {
    std::condition_variable work_came;
    Work work = nullptr;
  };

  bool start_thread(Work& first);
  void wake();
  void serve_thread(Work work);
  void wait_for_work(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Idle>& self);

  const int64_t most_;
  const std::chrono::milliseconds idle_time_;
  const Soon soon_;
  mutable std::mutex mutex_;
  int64_t working_ = 0;
  std::vector<std::shared_ptr<Idle>> idle_;     // the last one to have worked is the last
  std::vector<std::shared_ptr<Idle>> to_wake_;  // that have been given work
  bool stopping_ = false;
  std::unordered_map<std::thread::id, std::thread> threads_;
  std::vector<std::thread> ended_;
};

}  // namespace heed::serve
