// Continuous batching: requests of any number of callers join the steps of a model's workers as they come, and leave
// when they are done.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/fair_queue.h"
#include "decode/scheduling/worker.h"
#include "heed/types/workload.h"
#include "kernels/lanes.h"

namespace heed {

// A model with the threads that run it. Any number of threads may use it at once. Each lane has a worker, which takes
// requests and has a stepper of its own: small batches finish sooner side by side, each on one thread, than one large
// batch with all threads within each op. But each worker's steps read all weights: a few sequences of a large model have
// one worker with all threads, and so has a request that is alone.
class Scheduler {
 public:
  struct Memory {
    int64_t step_bytes = 0;  // as of RequestMemory
    // For what texts begin with, where the model has_prefixes(). It stays for prefix_time after the last step. 0: texts
    // share nothing.
    int64_t prefix_bytes = 0;
    std::chrono::milliseconds prefix_time = std::chrono::minutes(5);
  };

  // What the arguments refer to must outlive it. With `drafting`, texts are drafted.
  explicit Scheduler(const Inference& inference, const Drafting* drafting = nullptr,
                     SourceVocabulary source = SourceVocabulary::other)
      : Scheduler(inference, drafting, source, Memory{}) {}
  Scheduler(const Inference& inference, const Drafting* drafting, SourceVocabulary source, const Memory& memory);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  const Inference& inference() const { return inference_; }
  bool drafts() const { return drafting_ != nullptr; }
  Lanes& lanes() { return lanes_; }  // for what is not written token by token

  // Returns when each request is done or has been interrupted. When one throws, the others of this call are given up,
  // and what it threw is thrown. `sharing` says when requests of several calls get a worker. It is fastest to give the
  // longest requests first.
  void run(std::span<Request* const> requests, const Interruption& interruption = {}, const Sharing& sharing = {});

  // Never waits for a step.
  Workload workload() const;
  PrefixReport prefixes() const { return prefixes_.report(); }
  // Frees what was kept for the beginnings of later texts, soon after the steps under way.
  void forget_prefixes();

 private:
  bool take_turn(size_t lane, Backend& backend);
  bool step(size_t lane, Backend& backend);
  void withdraw(Call& call, const std::exception_ptr& failure, EndedCalls& calls);
  // All calls that wait, or only one of them.
  void fail(const std::exception_ptr& failure, const Call* only = nullptr);
  void rest(size_t lane);
  int lanes_wanted() const;
  void hand_out(size_t lane);
  void end(const EndedRequest& ended, EndedCalls& calls);

  Inference inference_;
  const Drafting* drafting_;
  SourceVocabulary source_;
  RequestMemory memory_;
  Memory limits_;
  PrefixLog prefixes_;
  const int64_t most_together_;  // sequences that are better written by one worker than by several

  mutable std::mutex mutex_;                      // of all below
  FairQueue<Call> waiting_;                       // with requests that nobody has taken
  int64_t sequences_ = 0;                         // of all requests that have not ended
  bool first_is_full_ = false;                    // the first worker could not take all that waited
  std::vector<std::unique_ptr<Worker>> workers_;  // of each lane; null: it has nothing
  std::vector<bool> forgets_;                     // by lane: whether it frees what it keeps in its next turn
  Workload workload_;                             // without what workers use
  std::vector<Worker::Use> uses_;                 // by each worker, after its last step

  Lanes lanes_;  // the last: its threads use all of the above
};

}  // namespace heed
