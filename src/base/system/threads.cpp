#include "base/system/threads.h"

#include <sched.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/errors.h"
#include "base/system/control_groups.h"
#include "base/system/processors.h"

namespace heed {
namespace {

// How often a waiting thread polls before it yields its processor: about 35 us. Longer would starve others that could
// use the processor; shorter would pay for a wake-up at nearly every op.
constexpr int kSpins = 1000;

std::atomic<int> most_processors{std::numeric_limits<int>::max()};

// The task that this thread is running, if any.
thread_local const ThreadPool* current_pool = nullptr;
thread_local int current_worker = 0;

// Like a round of many threads: all tasks run, then the first exception is rethrown.
void run_serially(int64_t tasks, void (*invoke)(void*, int64_t, int), void* context, int worker) {
  std::exception_ptr failure;
  for (int64_t task = 0; task < tasks; ++task) {
    try {
      invoke(context, task, worker);
    } catch (...) {
      if (!failure) {
        failure = std::current_exception();
      }
    }
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads) : used_(threads), workers_(static_cast<size_t>(std::clamp(threads, 0, 1024))) {
  require<ConfigError>(threads >= 1 && threads <= 1024, "threads", "expected 1 to 1024 threads, found {}", threads);
  for (int worker = 1; worker < threads; ++worker) {
    threads_.emplace_back([this, worker] { work(worker); });
    placement_.add(threads_.back().native_handle());
  }
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  use_threads(size());
  round_.fetch_add(1);
  round_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void ThreadPool::use_threads(int most) {
  const int used = std::clamp(most, 1, size());
  if (used_.exchange(used) != used) {
    used_.notify_all();
  }
}

void ThreadPool::run_erased(int64_t tasks, Invoke invoke, void* context) {
  ensure(tasks >= 0 && tasks < (int64_t{1} << 31), "threads", "{} tasks in one call", tasks);
  const int used = used_.load(std::memory_order_relaxed);
  if (current_pool != nullptr || used == 1 || tasks <= 1) {
    run_serially(tasks, invoke, context, current_pool == this ? current_worker : 0);
    return;
  }
  placement_.refresh();
  invoke_ = invoke;
  context_ = context;
  completed_.store(0, std::memory_order_relaxed);
  tasks_ = static_cast<uint32_t>(tasks);
  int64_t begin = 0;
  for (int worker = 0; worker < used; ++worker) {
    const int64_t end = first_task(tasks, worker + 1, used);
    const uint64_t ticket = static_cast<uint64_t>(end) << 32 | static_cast<uint64_t>(begin);
    workers_[static_cast<size_t>(worker)].ticket.store(ticket, std::memory_order_release);
    begin = end;
  }
  round_.fetch_add(1);
  if (sleepers_.load() > 0) {
    round_.notify_all();
  }
  while (claim_and_run(0)) {
  }
  wait_for_others(static_cast<uint32_t>(tasks));
  if (failure_) {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

bool ThreadPool::claim_and_run(int worker) {
  const size_t own = static_cast<size_t>(worker);
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (claim_and_run_of(workers_[(own + i) % workers_.size()], worker)) {
      return true;
    }
  }
  return false;
}

bool ThreadPool::claim_and_run_of(Worker& owner, int worker) {
  const auto open = [](uint64_t ticket) { return static_cast<uint32_t>(ticket) < static_cast<uint32_t>(ticket >> 32); };
  if (!open(owner.ticket.load(std::memory_order_relaxed))) {
    return false;
  }
  std::atomic<bool>& busy = workers_[static_cast<size_t>(worker)].busy;
  busy.store(true);
  const uint64_t ticket = owner.ticket.fetch_add(1, std::memory_order_acquire);
  if (!open(ticket)) {
    busy.store(false);
    return false;
  }
  const uint32_t tasks = tasks_;
  current_pool = this;
  current_worker = worker;
  try {
    invoke_(context_, static_cast<int64_t>(static_cast<uint32_t>(ticket)), worker);
  } catch (...) {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) {
      failure_ = std::current_exception();
    }
  }
  current_pool = nullptr;
  current_worker = 0;
  busy.store(false);
  if (completed_.fetch_add(1, std::memory_order_acq_rel) + 1 == tasks && worker != 0) {
    completed_.notify_one();
  }
  return true;
}

void ThreadPool::work(int worker) {
  while (true) {
    // Read the round first: stopping the pool sets stopping_ before it bumps the round, so that a worker either sees
    // stopping_ here, or does not fall asleep below.
    const uint32_t seen_round = round_.load();
    if (stopping_.load()) {
      return;
    }
    if (const int used = used_.load(); worker >= used) {
      used_.wait(used);
      continue;
    }
    while (claim_and_run(worker)) {
    }
    wait_for_work(seen_round);
  }
}

void ThreadPool::wait_for_work(uint32_t seen_round) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (round_.load(std::memory_order_relaxed) != seen_round) {
      return;
    }
    relax();
  }
  sleepers_.fetch_add(1);
  round_.wait(seen_round);
  sleepers_.fetch_sub(1);
}

void ThreadPool::wait_for_others(uint32_t tasks) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (completed_.load(std::memory_order_acquire) == tasks) {
      return;
    }
    relax();
  }
  help_preempted(tasks);
  for (uint32_t seen = completed_.load(std::memory_order_acquire); seen != tasks;
       seen = completed_.load(std::memory_order_acquire)) {
    completed_.wait(seen, std::memory_order_acquire);
  }
}

void ThreadPool::help_preempted(uint32_t tasks) {
  for (size_t worker = 1; worker < workers_.size(); ++worker) {
    const std::atomic<bool>& busy = workers_[worker].busy;
    if (busy.load() && placement_.is_stalled(worker - 1) && busy.load()) {
      placement_.move_here(worker - 1);
      // Only while a task is unfinished: a worker that looks for a task is busy for a moment too.
      for (uint32_t seen = completed_.load(); seen != tasks && busy.load(); seen = completed_.load()) {
        completed_.wait(seen);
      }
      placement_.move_away(worker - 1);
    }
  }
}

int available_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    return 1;
  }
  return std::min({CPU_COUNT(&set), processor_quota(), most_processors.load()});
}

int processor_quota() { return processor_limit_of_groups(own_control_groups(), kControlGroups); }

void limit_processors(int most) { most_processors = most; }

int thread_count(int asked) {
  require<ConfigError>(asked >= 0, "threads", "expected 1 or more, or 0 for one per processor, found {}", asked);
  return asked == 0 ? available_processors() : asked;
}

}  // namespace heed
