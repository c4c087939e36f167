#include "decode/scheduling/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/rounding.h"

namespace heed {
namespace {

constexpr int64_t kMaxRequests = 64;    // of a worker at once
constexpr int64_t kMaxSequences = 128;  // of a worker at once

Interrupted state_of(const Interruption& interruption) {
  if (interruption.stop.stop_requested()) {
    return Interrupted::cancelled;
  }
  const bool limited = interruption.deadline != std::chrono::steady_clock::time_point::max();
  return limited && std::chrono::steady_clock::now() >= interruption.deadline ? Interrupted::deadline : Interrupted::no;
}

}  // namespace

// The requests of one caller.
struct Scheduler::Job {
  std::span<Request* const> requests;
  const Interruption& interruption;
  size_t next = 0;                       // the first that no worker has
  size_t left = requests.size();         // that have not ended
  std::exception_ptr failure = nullptr;  // of the first that threw
};

struct Scheduler::Ended {
  Job* job;
  Request* request;
  std::exception_ptr failure;
};

// A stepper and the requests that share its steps.
class Scheduler::Worker {
 public:
  Worker(const Scheduler& scheduler, Backend& backend) : scheduler_(scheduler), backend_(backend) {}

  bool idle() const { return members_.empty(); }
  // Once it is full, it takes no more until half of its places or a quarter of its memory is free: each join costs a pass
  // of the encoder, which is fast only with many sources, and fewer requests read the weights in more steps.
  bool takes_more() {
    is_full_ = is_full_ && (2 * requests() > kMaxRequests || 2 * sequences() > kMaxSequences ||
                            !scheduler_.memory_.fits(need(), RequestMemory::Share::three_quarters));
    return !is_full_;
  }
  // `share` is what each worker has if all sequences are divided evenly. The last request may exceed it and the limit
  // of sequences, and one that is alone the budget.
  bool has_room(const Request& request, int64_t share) {
    const RequestMemory& memory = scheduler_.memory_;
    const auto more = std::ssize(request.source());
    RequestMemory::Need with_it = need();
    with_it += memory.need_of(request);
    is_full_ =
        is_full_ || requests() >= kMaxRequests || sequences() >= kMaxSequences || (!idle() && !memory.fits(with_it));
    return !is_full_ && sequences() < share &&
           (joining_tokens_ == 0 || joining_tokens_ + more <= memory.max_source_tokens());
  }
  void take(Job& job, Request& request) {
    members_.push_back({.job = &job, .request = &request});
    joining_tokens_ += std::ssize(request.source());
  }
  // Finds the members that are to end in the next step, also because others of the same caller have failed.
  void look_at_jobs() {
    for (Member& member : members_) {
      member.given_up = member.job->failure != nullptr;
      member.interrupted = state_of(member.job->interruption);
    }
  }

  // Returns the members that ended.
  std::vector<Ended> step() {
    ended_.clear();
    try {
      interrupt();
      join();
      if (batch_ != nullptr && !batch_->empty()) {
        for (const auto& [request, failure] : batch_->step()) {
          end(*std::ranges::find(members_, request, &Member::request), failure);
        }
      }
    } catch (...) {
      fail(std::current_exception());
    }
    std::erase_if(members_, [](const Member& member) { return member.state == State::ended; });
    if (speculation_ != nullptr && !ended_.empty()) {
      speculation_->publish();
    }
    return std::move(ended_);
  }

 private:
  enum class State : uint8_t { joining, running, ended };
  struct Member {
    Job* job;
    Request* request;
    State state = State::joining;
    Interrupted interrupted = Interrupted::no;
    bool given_up = false;
  };

  int64_t requests() const { return static_cast<int64_t>(members_.size()); }
  int64_t sequences() const {
    int64_t sum = 0;
    for (const Member& member : members_) {
      sum += member.request->sequences();
    }
    return sum;
  }

  RequestMemory::Need need() const {
    RequestMemory::Need sum;
    for (const Member& member : members_) {
      sum += scheduler_.memory_.need_of(*member.request);
    }
    return sum;
  }

  void interrupt() {
    for (Member& member : members_) {
      if (!member.given_up && member.interrupted == Interrupted::no) {
        continue;
      }
      if (member.state == State::running) {
        batch_->remove(*member.request);
      }
      std::exception_ptr failure;
      try {
        if (!member.given_up) {
          member.request->interrupt(member.interrupted);
        }
      } catch (...) {
        failure = std::current_exception();
      }
      end(member, failure);
    }
  }

  void join() {
    std::vector<Request*> joining;
    for (const Member& member : members_) {
      if (member.state == State::joining) {
        joining.push_back(member.request);
      }
    }
    joining_tokens_ = 0;
    if (joining.empty()) {
      return;
    }
    make_batch();
    std::exception_ptr no_room;
    try {
      batch_->join(joining);
    } catch (const BudgetError&) {
      no_room = std::current_exception();
    }
    for (Member& member : members_) {
      if (member.state == State::joining) {
        member.state = State::running;
        if (no_room) {
          end(member, no_room);
        }
      }
    }
  }

  void make_batch() {
    if (batch_ != nullptr) {
      return;
    }
    const Inference inference = scheduler_.inference_.on(backend_);
    StepperOptions options = stepper_options(scheduler_.drafting_);
    options.begin_with = scheduler_.memory_.tokens_at_first();
    stepper_ = make_stepper(inference, options);
    speculation_ = make_speculation(scheduler_.drafting_, inference, scheduler_.source_);
    batch_ = std::make_unique<RequestBatch>(*stepper_, speculation_.get());
  }

  void end(Member& member, const std::exception_ptr& failure) {
    member.state = State::ended;
    ended_.push_back({member.job, member.request, failure});
  }

  // The stepper may be in any state now, so it is not used again.
  void fail(const std::exception_ptr& failure) {
    for (Member& member : members_) {
      if (member.state != State::ended) {
        end(member, failure);
      }
    }
    batch_.reset();
    speculation_.reset();
    stepper_.reset();
  }

  const Scheduler& scheduler_;
  Backend& backend_;
  std::unique_ptr<Stepper> stepper_;
  std::unique_ptr<Speculation> speculation_;
  std::unique_ptr<RequestBatch> batch_;
  std::vector<Member> members_;
  std::vector<Ended> ended_;
  int64_t joining_tokens_ = 0;
  bool is_full_ = false;
};

Scheduler::Scheduler(const Inference& inference, const Drafting* drafting, SourceVocabulary source, int64_t step_bytes)
    : inference_(inference),
      drafting_(drafting),
      source_(source),
      memory_(inference, step_bytes),
      workers_(static_cast<size_t>(inference.backend.threads())),
      lanes_(inference.backend, [this](size_t lane, Backend& backend) { return take_turn(lane, backend); }) {
  require_cache_type(inference);
}

Scheduler::~Scheduler() = default;

void Scheduler::run(std::span<Request* const> requests, const Interruption& interruption) {
  Job job{.requests = requests, .interruption = interruption};
  if (requests.empty()) {
    return;
  }
  if (requests.size() > 1 || !run_alone(job)) {
    std::unique_lock lock(mutex_);
    jobs_.push_back(&job);
    for (const Request* request : requests) {
      sequences_ += request->max_sequences();
    }
    lanes_.call_turns();
    request_ended_.wait(lock, [&job] { return job.left == 0; });
  }
  if (job.failure) {
    std::rethrow_exception(job.failure);
  }
}

// Runs the only request with all threads, if nothing else runs.
bool Scheduler::run_alone(Job& job) {
  {
    const std::lock_guard lock(mutex_);
    if (sequences_ > 0) {
      return false;
    }
  }
  return lanes_.run_whole(1, [&](size_t, Backend& whole) {
    Worker worker(*this, whole);
    worker.take(job, *job.requests.front());
    while (!worker.idle()) {
      worker.look_at_jobs();
      for (const Ended& ended : worker.step()) {
        job.failure = ended.failure;
      }
    }
  });
}

// One step of a lane's worker, which is gone when there is nothing to do.
bool Scheduler::take_turn(size_t lane, Backend& backend) {
  std::unique_lock lock(mutex_);
  std::unique_ptr<Worker>& worker = workers_[lane];
  if (worker == nullptr) {
    worker = std::make_unique<Worker>(*this, backend);
  }
  hand_out(*worker);
  lock.unlock();
  const std::vector<Ended> ended = worker->step();
  lock.lock();
  std::ranges::for_each(ended, [this](const Ended& member) { end(member); });
  const bool goes_on = !worker->idle() || !jobs_.empty();
  if (!goes_on) {
    worker.reset();
  }
  return goes_on;
}

// Takes requests from the callers in turn. Those of a call that is to end are all handed out at once, to be ended.
void Scheduler::hand_out(Worker& worker) {
  const bool takes_more = worker.takes_more();
  const int64_t share = ceil_div(sequences_, lanes_.count());
  const auto ends = [](const Job& job) { return job.failure || state_of(job.interruption) != Interrupted::no; };
  for (Job* job : jobs_) {
    while (ends(*job) && job->next < job->requests.size()) {
      worker.take(*job, *job->requests[job->next++]);
    }
  }
  std::erase_if(jobs_, [](const Job* job) { return job->next == job->requests.size(); });
  while (takes_more && !jobs_.empty() && worker.has_room(*jobs_.front()->requests[jobs_.front()->next], share)) {
    Job& job = *jobs_.front();
    jobs_.pop_front();
    worker.take(job, *job.requests[job.next++]);
    if (job.next < job.requests.size()) {
      jobs_.push_back(&job);
    }
  }
  worker.look_at_jobs();
}

void Scheduler::end(const Ended& ended) {
  sequences_ -= ended.request->max_sequences();
  Job& job = *ended.job;
  job.failure = job.failure ? job.failure : ended.failure;
  if (--job.left == 0) {
    request_ended_.notify_all();
  }
}

}  // namespace heed
