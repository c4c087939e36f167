#include "kernels/lanes.h"

#include <algorithm>
#include <utility>

namespace heed {

Lanes::~Lanes() { stop(); }

void Lanes::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_came_.notify_all();
  for (Lane& lane : lanes_) {
    if (lane.thread.joinable()) {
      lane.thread.join();
    }
  }
  whole_.use_threads(count_);
}

void Lanes::run(size_t tasks, const Body& body, const Interruption& interruption, const Sharing& sharing) {
  Job job{.body = body, .interruption = interruption, .tasks = tasks, .failure = nullptr};
  if (tasks == 1 || count() == 1) {
    run_whole(job);
  }
  std::unique_lock lock(mutex_);
  if (job.next < job.tasks) {
    start();
    jobs_.add(job, sharing);
    work_came_.notify_all();
    work_done_.wait(lock, [&job] { return job.done == job.tasks; });
  }
  if (job.failure) {
    std::rethrow_exception(job.failure);
  }
  require_uninterrupted(job.interrupted, "reading");
}

// Whether a job with tasks that have not begun is interrupted: then it loses them.
bool Lanes::gives_up(Job& job) {
  job.interrupted = state_of(job.interruption);
  if (job.interrupted == Interrupted::no) {
    return false;
  }
  job.tasks = job.next;
  return true;
}

// Runs tasks on the calling thread as long as nothing else is to run.
void Lanes::run_whole(Job& job) {
  while (job.next < job.tasks && !gives_up(job) && claim_whole()) {
    try {
      job.body(job.next, whole_);
    } catch (...) {
      job.failure = job.failure ? job.failure : std::current_exception();
    }
    ++job.next;
    ++job.done;
    release_whole();
  }
}

// A lane at work looks for its next turn by itself.
void Lanes::call_turns(int lanes) {
  std::unique_lock lock(mutex_);
  start();
  bool rests = false;
  for (int number = 0; number < lanes; ++number) {
    Lane& lane = lanes_[static_cast<size_t>(number)];
    rests = rests || (!lane.works && !lane.has_turn);
    lane.has_turn = true;
  }
  lock.unlock();
  if (rests) {
    work_came_.notify_all();
  }
}

void Lanes::call_turn(size_t lane, std::chrono::steady_clock::time_point when) {
  const std::lock_guard lock(mutex_);
  start();
  lanes_[lane].next_turn = when;
  work_came_.notify_all();
}

void Lanes::take_turns(const std::function<bool()>& wanted) {
  if (!claim_whole()) {
    return;
  }
  bool goes_on = true, is_wanted = true;
  while (goes_on && is_wanted) {
    goes_on = turn_(0, whole_);
    const bool still = wanted();
    const std::lock_guard lock(mutex_);
    is_wanted = still && lanes_at_work() == 0 && jobs_.empty();
    if (goes_on && !is_wanted) {
      // Where there can be no thread to go on with it, this one does.
      is_wanted = !try_start();
      if (!is_wanted) {
        lanes_.front().has_turn = true;
      }
    }
  }
  release_whole();
}

void Lanes::turn_until(CallEnd& end, Caller caller, int lanes) {
  if (caller == Caller::takes_turns) {
    take_turns([&end] { return !end.has_come(); });
  }
  if (!end.has_come()) {
    call_turns(lanes);
    end.wait();
  }
}

// Where nothing else runs.
bool Lanes::claim_whole() {
  const std::lock_guard lock(mutex_);
  if (whole_is_used_ || !jobs_.empty() || lanes_at_work() > 0) {
    return false;
  }
  whole_.use_threads(count_);
  whole_is_used_ = true;
  return true;
}

void Lanes::release_whole() {
  const std::lock_guard lock(mutex_);
  whole_is_used_ = false;
  work_came_.notify_all();
}

int Lanes::lanes_at_work() const {
  return static_cast<int>(std::ranges::count_if(lanes_, [](const Lane& lane) { return lane.works || lane.has_turn; }));
}

// Started when they are first needed: a model that translates one line at a time needs no lanes.
void Lanes::start() {
  while (static_cast<int>(lanes_.size()) < count()) {
    const size_t number = lanes_.size();
    lanes_.push_back({.backend = whole_.make_lane(), .thread = {}});
    try {
      lanes_.back().thread = std::thread([this, number] { work(number); });
    } catch (...) {
      lanes_.pop_back();
      throw;
    }
  }
}

bool Lanes::try_start() {
  try {
    start();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// Between two turns a lane runs at most one task, so that neither waits for the end of all of the other.
void Lanes::work(size_t number) {
  std::unique_lock lock(mutex_);
  Lane& lane = lanes_[number];
  while (true) {
    wait_for_work(lock, lane);
    if (jobs_.empty() && !lane.has_turn) {
      return;
    }
    lane.works = true;
    if (!jobs_.empty()) {
      run_task(lock, lane);
    }
    if (may_turn(lane)) {
      lane.has_turn = false;
      lane.next_turn = kNever;
      const bool goes_on = take_turn(lock, number);
      lane.has_turn = lane.has_turn || goes_on;
    }
    lane.works = false;
  }
}

void Lanes::wait_for_work(std::unique_lock<std::mutex>& lock, Lane& lane) {
  while (!stopping_ && jobs_.empty() && !may_turn(lane)) {
    if (lane.next_turn == kNever) {
      work_came_.wait(lock);
    } else if (work_came_.wait_until(lock, lane.next_turn) == std::cv_status::timeout) {
      lane.next_turn = kNever;
      lane.has_turn = true;
    }
  }
}

bool Lanes::take_turn(std::unique_lock<std::mutex>& lock, size_t number) {
  Backend& backend = number == 0 ? whole_ : *lanes_[number].backend;
  if (number == 0) {
    whole_is_used_ = true;
    whole_.use_threads(count_ + 1 - lanes_at_work());
  }
  lock.unlock();
  const bool goes_on = turn_(number, backend);
  lock.lock();
  if (number == 0) {
    whole_is_used_ = false;
    if (!goes_on && !lanes_[number].has_turn) {
      whole_.use_threads(count_);  // for whoever uses it next
    }
  }
  return goes_on;
}

// So that a call that is to end need not wait for its turn.
void Lanes::remove_interrupted_jobs() {
  bool is_any_done = false;
  jobs_.remove_if([&is_any_done](Job& job) {
    const bool leaves = gives_up(job);
    is_any_done = is_any_done || (leaves && job.done == job.tasks);
    return leaves;
  });
  if (is_any_done) {
    work_done_.notify_all();
  }
}

void Lanes::run_task(std::unique_lock<std::mutex>& lock, Lane& lane) {
  remove_interrupted_jobs();
  if (jobs_.empty()) {
    return;
  }
  Job& job = jobs_.next();
  const size_t task = job.next++;
  jobs_.end_turn(job.next < job.tasks ? FairQueue<Job>::After::waits : FairQueue<Job>::After::leaves);
  lock.unlock();
  std::exception_ptr failure;
  try {
    job.body(task, *lane.backend);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  if (failure && !job.failure) {
    job.failure = std::move(failure);
  }
  if (++job.done == job.tasks) {
    work_done_.notify_all();
  }
}

}  // namespace heed
