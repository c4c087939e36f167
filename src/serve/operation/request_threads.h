// Threads that answer requests: as many as there are requests, up to a limit.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace heed::serve {

// Nothing waits here: an admitted request has a thread, which waits for its turn in the model's scheduler, where
// the order of turns is decided. Threads are kept for the next request, and end when there is none for a while.
class RequestThreads {
 public:
  explicit RequestThreads(int64_t most) : most_(most) {}
  ~RequestThreads();  // when all have returned
  RequestThreads(const RequestThreads&) = delete;
  RequestThreads& operator=(const RequestThreads&) = delete;

  // False, and nothing is done, when as many as allowed are at work, or the process may not have another thread. The
  // work must not throw.
  bool try_run(std::function<void()> work);
  int64_t working() const;

 private:
  void serve_thread();
  bool start_thread();

  const int64_t most_;
  mutable std::mutex mutex_;
  std::condition_variable work_came_;
  std::deque<std::function<void()>> work_;
  int64_t working_ = 0;  // waiting for a thread included
  int64_t idle_ = 0;     // threads
  bool stopping_ = false;
  std::unordered_map<std::thread::id, std::thread> threads_;
  std::vector<std::thread> ended_;
};

}  // namespace heed::serve
