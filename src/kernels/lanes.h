// Threads that run a model's tasks as long as the model lives, each with its own memory, which it reuses.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/kernels.h"

namespace heed {

// As many lanes as the backend has threads: small tasks finish sooner side by side, each on one thread, than one after
// the other with all threads within each op. Any number of threads may call at once.
class Lanes {
 public:
  using Body = std::function<void(size_t task, Backend& backend)>;
  // One turn of a lane's work that has no fixed end, such as a step of decoding. Returns whether there is more to do.
  // It must not throw.
  using Turn = std::function<bool(size_t lane, Backend& backend)>;

  // `whole` runs a call's only task, with all its threads, unless another call uses it. After call_turns() every lane
  // takes turns until one returns false; the tasks of run() come between them.
  explicit Lanes(Backend& whole, Turn turn = {}) : whole_(whole), turn_(std::move(turn)) {}
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  int count() const { return whole_.threads(); }

  // Calls body(task, backend) for each task. Returns when all are done; then throws what the first that failed threw.
  void run(size_t tasks, const Body& body);
  // Calls body(task, backend) for each task with the backend of all threads. False, and nothing is called, while
  // another call uses it.
  bool run_whole(size_t tasks, const Body& body);
  void call_turns();

 private:
  struct Job {
    const Body& body;
    size_t tasks, next = 0, done = 0;
    std::exception_ptr failure;
  };
  struct Lane {
    std::unique_ptr<Backend> backend;
    bool has_turn = false;
    std::thread thread;
  };

  void start();
  void work(size_t number);
  void run_task(std::unique_lock<std::mutex>& lock, Backend& backend);

  Backend& whole_;
  const Turn turn_;
  std::mutex whole_mutex_;

  std::mutex mutex_;  // of all below
  std::condition_variable work_came_, work_done_;
  std::deque<Job*> jobs_;  // those with tasks that have not begun
  bool stopping_ = false;
  std::deque<Lane> lanes_;
};

}  // namespace heed
