#include "kernels/lanes.h"

#include <utility>

namespace heed {

Lanes::~Lanes() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_came_.notify_all();
  for (Lane& lane : lanes_) {
    lane.thread.join();
  }
}

void Lanes::run(size_t tasks, const Body& body) {
  if (tasks == 0 || ((tasks == 1 || count() == 1) && run_whole(tasks, body))) {
    return;
  }
  Job job{.body = body, .tasks = tasks, .failure = nullptr};
  std::unique_lock lock(mutex_);
  start();
  jobs_.push_back(&job);
  work_came_.notify_all();
  work_done_.wait(lock, [&job] { return job.done == job.tasks; });
  if (job.failure) {
    std::rethrow_exception(job.failure);
  }
}

bool Lanes::run_whole(size_t tasks, const Body& body) {
  const std::unique_lock whole(whole_mutex_, std::try_to_lock);
  if (!whole.owns_lock()) {
    return false;
  }
  std::exception_ptr failure;
  for (size_t task = 0; task < tasks; ++task) {
    try {
      body(task, whole_);
    } catch (...) {
      failure = failure ? failure : std::current_exception();
    }
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
  return true;
}

void Lanes::call_turns() {
  const std::lock_guard lock(mutex_);
  start();
  for (Lane& lane : lanes_) {
    lane.has_turn = true;
  }
  work_came_.notify_all();
}

// Started when they are first needed: a model that translates one line at a time needs no lanes.
void Lanes::start() {
  while (static_cast<int>(lanes_.size()) < count()) {
    const size_t number = lanes_.size();
    lanes_.push_back({.backend = whole_.make_lane(), .thread = {}});
    lanes_.back().thread = std::thread([this, number] { work(number); });
  }
}

// Between two turns a lane runs at most one task, so that neither waits for the end of all of the other.
void Lanes::work(size_t number) {
  std::unique_lock lock(mutex_);
  Lane& lane = lanes_[number];
  while (true) {
    work_came_.wait(lock, [&] { return stopping_ || !jobs_.empty() || lane.has_turn; });
    if (jobs_.empty() && !lane.has_turn) {
      return;
    }
    if (!jobs_.empty()) {
      run_task(lock, *lane.backend);
    }
    if (std::exchange(lane.has_turn, false)) {
      lock.unlock();
      const bool goes_on = turn_(number, *lane.backend);
      lock.lock();
      lane.has_turn = lane.has_turn || goes_on;
    }
  }
}

void Lanes::run_task(std::unique_lock<std::mutex>& lock, Backend& backend) {
  Job& job = *jobs_.front();
  const size_t task = job.next++;
  if (job.next == job.tasks) {
    jobs_.pop_front();
  }
  lock.unlock();
  std::exception_ptr failure;
  try {
    job.body(task, backend);
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
