// A pool whose workers claim tasks as they come free.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/system/placement.h"

namespace heed {

// The calling thread is worker 0 and works too. Each worker starts with its own contiguous share of the tasks and then
// helps with the others': when ops split their rows alike, a core finds its rows in its cache again. Tasks are claimed
// one at a time, so a worker that the system preempts delays at most the task it has claimed; a worker that has not
// woken up yet delays nothing. Results must not depend on which worker runs a task. When a task throws, run() throws
// its exception after the others have run.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // The first of `tasks` tasks in the share with which a worker of `threads` begins; that of worker `threads` is the
  // end.
  static int64_t first_task(int64_t tasks, int64_t worker, int64_t threads) { return worker * tasks / threads; }

  int size() const { return static_cast<int>(workers_.size()); }
  // For how many work is to be divided: all, or the one that works alone.
  int threads() const { return used_.load(std::memory_order_relaxed) == 1 ? 1 : size(); }
  // From the next run() on, only the first `most` workers begin tasks; the others leave their processors to whoever
  // needs them. Called by the caller of run(), at least 1.
  void use_threads(int most);

  // Calls body(task, worker) for each task in [0, tasks). Returns when all are done. One caller at a time. A call from
  // within one of several tasks runs serially: as that task's worker, or, where the task is another pool's, as worker
  // 0.
  template <class Body>
  void run(int64_t tasks, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run_erased(
        tasks, [](void* context, int64_t task, int worker) { (*static_cast<Plain*>(context))(task, worker); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  struct alignas(64) Worker {
    // Its share: (end : 32, next : 32) in one word, so that a claim is checked and made at once. What a task needs
    // (invoke_, context_, tasks_) can't change while a claimed task is unfinished.
    std::atomic<uint64_t> ticket{0};
    std::atomic<bool> busy{false};  // whether it runs a task, of any worker's share
  };
  using Invoke = void (*)(void* context, int64_t task, int worker);

  void run_erased(int64_t tasks, Invoke invoke, void* context);
  void work(int worker);
  bool claim_and_run(int worker);
  bool claim_and_run_of(Worker& owner, int worker);
  void help_preempted(uint32_t tasks);
  void wait_for_work(uint32_t seen_round);
  void wait_for_others(uint32_t tasks);

  std::atomic<uint32_t> round_{0};      // bumped when work arrives; sleeping workers wait on it
  std::atomic<uint32_t> completed_{0};  // tasks of this round that have ended; the caller waits on it
  std::atomic<int> sleepers_{0};
  std::atomic<int> used_;  // workers that begin tasks; the others wait on it
  std::atomic<bool> stopping_{false};
  Invoke invoke_ = nullptr;
  void* context_ = nullptr;
  uint32_t tasks_ = 0;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  std::vector<Worker> workers_;
  std::vector<std::thread> threads_;  // of workers 1 and up
  Placement placement_;               // of threads_, by the caller
};

// Processors that this process may use: those that it may run on, or as many as the quota of its control groups is
// worth where that is fewer.
int available_processors();

// The requested number of threads; 0 means one per processor. ConfigError when it is negative.
int thread_count(int asked);

}  // namespace heed
