#include "decode/scheduling/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/rounding.h"

namespace heed {
namespace {

// With one worker instead of several, each core reads only its share of the weights. But the threads wait for each other
// at each op of a step, and for what one of them does alone for each sequence. Both cost as much time as reading so many
// bytes (docs/measurements/serving.md).
constexpr int64_t kBytesOfOps = 40 << 20;
constexpr int64_t kBytesOfSequence = 2 << 20;

}  // namespace

Scheduler::Scheduler(const Inference& inference, const Drafting* drafting, SourceVocabulary source,
                     const Memory& memory)
    : inference_(inference),
      drafting_(drafting),
      source_(source),
      memory_(inference, memory.step_bytes),
      limits_(memory),
      most_together_(std::max<int64_t>(0, memory.step_bytes - kBytesOfOps) / kBytesOfSequence),
      workers_(static_cast<size_t>(inference.backend.threads())),
      forgets_(workers_.size()),
      uses_(workers_.size()),
      lanes_(inference.backend, [this](size_t lane, Backend& backend) { return take_turn(lane, backend); }) {
  require_cache_type(inference);
}

// What workers keep is memory of the lanes' backends.
Scheduler::~Scheduler() {
  lanes_.stop();
  workers_.clear();
}

// A call of one request that finds nothing else to do takes the steps itself, which spares it waiting for a thread.
void Scheduler::run(std::span<Request* const> requests, const Interruption& interruption, const Sharing& sharing) {
  if (requests.empty()) {
    return;
  }
  Call call{.requests = requests, .interruption = interruption, .priority = sharing.priority};
  std::unique_lock lock(mutex_);
  const bool alone = requests.size() == 1 && workload_.waiting + workload_.running == 0;
  waiting_.add(call, sharing);
  workload_.waiting += std::ssize(requests);
  for (const Request* request : requests) {
    sequences_ += request->max_sequences();
  }
  const int lanes = lanes_wanted();
  lock.unlock();
  try {
    lanes_.turn_until(*call.ended, alone ? Lanes::Caller::takes_turns : Lanes::Caller::waits, lanes);
  } catch (...) {  // there can be no thread for it
    fail(std::current_exception(), &call);
    call.ended->wait();
  }
  if (call.failure) {
    std::rethrow_exception(call.failure);
  }
}

Workload Scheduler::workload() const {
  const std::lock_guard lock(mutex_);
  Workload workload = workload_;
  for (const Worker::Use& use : uses_) {
    workload.sequences += use.sequences;
    workload.used_pages += use.used_pages;
    workload.free_pages += use.free_pages;
  }
  return workload;
}

void Scheduler::forget_prefixes() {
  const std::lock_guard lock(mutex_);
  for (size_t lane = 0; lane < workers_.size(); ++lane) {
    forgets_[lane] = workers_[lane] != nullptr;
  }
  lanes_.call_turns();
}

// Where there is no memory for what surrounds a worker's step, all calls fail that wait or that the worker serves. What
// the step itself throws is the failure of its requests alone.
bool Scheduler::take_turn(size_t lane, Backend& backend) {
  try {
    return step(lane, backend);
  } catch (...) {
    const std::exception_ptr failure = std::current_exception();
    fail(failure);
    const std::lock_guard lock(mutex_);
    Worker* const worker = workers_[lane].get();
    if (worker != nullptr) {
      worker->give_up(failure);
    }
    return worker != nullptr && !worker->idle();  // its members end in the next step
  }
}

// The requests that nobody has taken are not going to be. The call is no longer in the queue.
void Scheduler::withdraw(Call& call, const std::exception_ptr& failure, EndedCalls& calls) {
  call.failure = call.failure ? call.failure : failure;
  for (; call.next < call.requests.size(); ++call.next) {
    sequences_ -= call.requests[call.next]->max_sequences();
    --workload_.waiting;
    --call.left;
  }
  if (call.left == 0) {
    calls.add(call.ended);
  }
}

void Scheduler::fail(const std::exception_ptr& failure, const Call* only) {
  EndedCalls calls;
  const std::lock_guard lock(mutex_);
  waiting_.remove_if([&](Call& call) {
    const bool fails = only == nullptr || only == &call;
    if (fails) {
      withdraw(call, failure, calls);
    }
    return fails;
  });
}

// One step of a lane's worker.
bool Scheduler::step(size_t lane, Backend& backend) {
  EndedCalls calls;
  std::unique_lock lock(mutex_);
  std::unique_ptr<Worker>& worker = workers_[lane];
  if (worker == nullptr) {
    worker = std::make_unique<Worker>(
        WorkerTools{inference_, drafting_, source_, memory_, limits_.prefix_bytes / lanes_.count(), &prefixes_},
        backend);
  }
  hand_out(lane);
  lock.unlock();
  const std::vector<EndedRequest>& ended = worker->step();
  lock.lock();
  std::ranges::for_each(ended, [&](const EndedRequest& one) { end(one, calls); });
  if (forgets_[lane]) {
    worker->forget();
    forgets_[lane] = false;
  }
  uses_[lane] = worker->use();
  if (uses_[lane].tokens > 0) {
    workload_.count_step(uses_[lane].tokens);
  }
  const bool goes_on = !worker->idle() || (!waiting_.empty() && std::cmp_less(lane, lanes_wanted()));
  if (worker->idle()) {
    rest(lane);
  }
  return goes_on;
}

// A worker without requests is removed before callers know that theirs have ended, since they may use the backend then.
// One that keeps something for later prompts is removed when it has taken no step for a while.
void Scheduler::rest(size_t lane) {
  Worker& worker = *workers_[lane];
  first_is_full_ = first_is_full_ && lane != 0;
  const auto end = worker.last_step() + limits_.prefix_time;
  if (worker.keeps() && std::chrono::steady_clock::now() < end) {
    lanes_.call_turn(lane, end);
  } else {
    workers_[lane].reset();
    uses_[lane] = {};
  }
}

int Scheduler::lanes_wanted() const { return sequences_ <= most_together_ && !first_is_full_ ? 1 : lanes_.count(); }

// Takes requests from the callers in turn. Those of a call that is to end are all handed out at once, to be ended.
void Scheduler::hand_out(size_t lane) {
  Worker& worker = *workers_[lane];
  const auto take = [&](Call& call) {
    worker.take(call, *call.requests[call.next]);
    ++call.next;
    --workload_.waiting;
    ++workload_.running;
  };
  waiting_.remove_if([&](Call& call) {
    const bool ends = call.failure || state_of(call.interruption) != Interrupted::no;
    while (ends && call.next < call.requests.size()) {
      take(call);
    }
    return ends;
  });
  const int lanes = lanes_wanted();
  // Beside texts that are being written a quarter more, so that what comes joins in one pass of the encoder.
  const int64_t even = ceil_div(sequences_, lanes), share = even + (worker.idle() ? 0 : even / 4);
  const bool may_take = std::cmp_less(lane, lanes) && !worker.gathers(workload_.waiting);
  while (may_take && !waiting_.empty() && worker.has_room(waiting_.next(), share)) {
    Call& call = waiting_.next();
    take(call);
    waiting_.end_turn(call.next < call.requests.size() ? FairQueue<Call>::After::waits
                                                       : FairQueue<Call>::After::leaves);
  }
  if (lane == 0) {
    first_is_full_ = may_take && !waiting_.empty();
    if (lanes < lanes_wanted()) {
      lanes_.call_turns();
    }
  }
  worker.look_at_calls();
}

void Scheduler::end(const EndedRequest& ended, EndedCalls& calls) {
  sequences_ -= ended.request->max_sequences();
  --workload_.running;
  Call& call = *ended.call;
  call.failure = call.failure ? call.failure : ended.failure;
  if (--call.left == 0) {
    calls.add(call.ended);
  }
}

}  // namespace heed
