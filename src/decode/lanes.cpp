#include "decode/lanes.h"

#include <utility>

namespace heed {

Lanes::~Lanes() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_came_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
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

// Started when they are first needed: a model that translates one line at a time needs no lanes.
void Lanes::start() {
  while (static_cast<int>(threads_.size()) < count()) {
    Backend& lane = *backends_.emplace_back(whole_.make_lane());
    threads_.emplace_back([this, &lane] { work(lane); });
  }
}

void Lanes::work(Backend& lane) {
  std::unique_lock lock(mutex_);
  while (true) {
    work_came_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) {
      return;
    }
    Job& job = *jobs_.front();
    const size_t task = job.next++;
    if (job.next == job.tasks) {
      jobs_.pop_front();
    }
    lock.unlock();
    std::exception_ptr failure;
    try {
      job.body(task, lane);
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
}

}  // namespace heed
