// Continuous batching: requests of any number of callers join the steps of a model's workers as they come, and leave
// when they are done.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "decode/lanes.h"
#include "decode/scheduling/request_batch.h"
#include "heed/interruption.h"

namespace heed {

// A model with the threads that run it. Any number of threads may use it at once. As many workers as the backend has
// threads take requests, each with a stepper of its own: small batches finish sooner side by side, each on one thread,
// than one large batch with all threads within each op. A request that is alone has all threads.
class Scheduler {
 public:
  // What the arguments refer to must outlive it. With `drafting`, texts are drafted.
  explicit Scheduler(const Inference& inference, const Drafting* drafting = nullptr,
                     SourceVocabulary source = SourceVocabulary::other)
      : inference_(inference), drafting_(drafting), source_(source), lanes_(inference.backend) {
    require_cache_type(inference);
  }
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  const Inference& inference() const { return inference_; }
  bool drafts() const { return drafting_ != nullptr; }
  Lanes& lanes() { return lanes_; }  // for what is not written token by token

  // Returns when each request is done or has been interrupted. When one throws, the others of this call are given up,
  // and what it threw is thrown. Callers get workers in turn, whatever the number of their requests. It is fastest to
  // give the longest requests first.
  void run(std::span<Request* const> requests, const Interruption& interruption = {});

 private:
  struct Job;
  struct Ended;
  class Worker;

  bool run_alone(Job& job);
  void start();
  void work(Backend& backend);
  void hand_out(Worker& worker);
  void end(const Ended& ended);

  Inference inference_;
  const Drafting* drafting_;
  SourceVocabulary source_;
  Lanes lanes_;

  std::mutex mutex_;  // of all below
  std::condition_variable requests_came_, request_ended_;
  std::deque<Job*> jobs_;  // with requests that nobody has taken
  int64_t sequences_ = 0;  // of all requests that have not ended
  bool stopping_ = false;
  std::vector<std::unique_ptr<Backend>> backends_;
  std::vector<std::thread> threads_;
};

}  // namespace heed
