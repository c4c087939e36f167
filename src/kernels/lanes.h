// Threads that run a model's tasks as long as the model lives, each with its own memory, which it reuses.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/call_end.h"
#include "base/fair_queue.h"
#include "base/interruption.h"
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

  // `whole` runs a call's only task with all its threads where nothing else runs. After call_turns() each lane called takes
  // turns until one returns false; the tasks of run() come between them. Lane 0 takes its turns on `whole`, with the
  // threads that the other lanes do not need: what one call is alone with has all of them, and leaves them to others
  // from the next turn on.
  explicit Lanes(Backend& whole, Turn turn = {}) : whole_(whole), turn_(std::move(turn)), count_(whole.threads()) {}
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  int count() const { return count_; }

  // Calls body(task, backend) for each task. Returns when all are done; then throws what the first that failed threw.
  // Calls take turns, task by task, as `sharing` says. An interrupted one gives up the tasks that have not begun, and
  // throws InterruptedError when the others are done.
  void run(size_t tasks, const Body& body, const Interruption& interruption = {}, const Sharing& sharing = {});
  void call_turns(int lanes);  // the first so many
  void call_turns() { call_turns(count()); }
  // Gives a lane a turn at that time, if it has none before.
  void call_turn(size_t lane, std::chrono::steady_clock::time_point when);
  // Takes lane 0's turns on the calling thread, which need not wait for another one then, until one returns false, the
  // lanes are called, or wanted() is false after one; then the lane goes on by itself. Nothing where something else
  // runs.
  void take_turns(const std::function<bool()>& wanted);
  // Returns when the end has come, which turns of the first `lanes` bring about. A caller that takes turns itself need not
  // wait for a thread.
  enum class Caller : uint8_t { takes_turns, waits };
  void turn_until(CallEnd& end, Caller caller, int lanes);
  // Ends the threads when what was to run has run. The lanes' backends stay, for what has memory of theirs.
  void stop();

 private:
  static constexpr auto kNever = std::chrono::steady_clock::time_point::max();
  struct Job {
    const Body& body;
    const Interruption& interruption;
    size_t tasks, next = 0, done = 0;
    std::exception_ptr failure;
    Interrupted interrupted = Interrupted::no;
  };
  struct Lane {
    std::unique_ptr<Backend> backend;  // for tasks, and for the turns of all lanes but the first
    bool has_turn = false, works = false;
    std::chrono::steady_clock::time_point next_turn = kNever;  // where it has none now
    std::thread thread;
  };

  static bool gives_up(Job& job);
  void run_whole(Job& job);
  void start();
  bool try_start();  // false where there is no memory, or may be no thread, for it
  void work(size_t number);
  bool may_turn(const Lane& lane) const { return lane.has_turn && (&lane != &lanes_.front() || !whole_is_used_); }
  void wait_for_work(std::unique_lock<std::mutex>& lock, Lane& lane);
  void remove_interrupted_jobs();
  void run_task(std::unique_lock<std::mutex>& lock, Lane& lane);
  bool take_turn(std::unique_lock<std::mutex>& lock, size_t number);
  bool claim_whole();
  void release_whole();
  int lanes_at_work() const;

  Backend& whole_;
  const Turn turn_;
  const int count_;

  std::mutex mutex_;  // of all below
  bool whole_is_used_ = false;
  std::condition_variable work_came_, work_done_;
  FairQueue<Job> jobs_;  // those with tasks that have not begun
  bool stopping_ = false;
  std::deque<Lane> lanes_;
};

}  // namespace heed
