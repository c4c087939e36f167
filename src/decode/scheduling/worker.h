// What a lane of a scheduler does: a stepper, and the requests that share its steps.
#pragma once

#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "base/call_end.h"
#include "decode/scheduling/request_batch.h"
#include "decode/scheduling/request_memory.h"
#include "decode/steppers/prefix_stepper.h"
#include "heed/types/sharing.h"

namespace heed {

// The requests of one caller.
struct Call {
  std::span<Request* const> requests;
  const Interruption& interruption;
  int priority = 0;
  size_t next = 0;                       // the first that no worker has
  size_t left = requests.size();         // that have not ended
  std::exception_ptr failure = nullptr;  // of the first that threw
  std::shared_ptr<CallEnd> ended = std::make_shared<CallEnd>();
};

struct EndedRequest {
  Call* call;
  Request* request;
  std::exception_ptr failure;
};

// What all workers of a scheduler work with.
struct WorkerTools {
  const Inference& inference;
  const Drafting* drafting;
  SourceVocabulary source;
  const RequestMemory& memory;
  int64_t prefix_bytes = 0;  // as of PrefixStepper; 0: sequences share nothing that they begin with
  PrefixLog* prefixes = nullptr;
};

class Worker {
 public:
  // What the tools refer to and the backend must outlive it.
  Worker(const WorkerTools& tools, Backend& backend) : tools_(tools), backend_(backend) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  bool idle() const { return members_.empty(); }
  // `share` is what each worker has if all sequences are divided evenly. The last request may exceed it and the limit
  // of sequences; a request that is alone may exceed the budget. Once a worker is full, calls that it serves already
  // wait until half of its places and a quarter of its memory are free: each join costs a pass of the encoder, which is
  // fast only with many sources, but with fewer requests more steps read the weights.
  bool has_room(const Call& call, int64_t share);
  // Whether requests that wait should wait for more to join with them: a pass of the encoder reads all its weights for
  // however few sources. They wait at most one step, and only beside many that are being written.
  bool gathers(int64_t waiting);
  // Throws, and takes nothing, where there is no memory for it.
  void take(Call& call, Request& request);
  // All members are to end in the next step, with this failure.
  void give_up(const std::exception_ptr& failure);
  // Finds the members that are to end in the next step, also because others of the same caller have failed.
  void look_at_calls();

  // Returns the members that ended; valid until the next step. It does not throw: failures are theirs.
  const std::vector<EndedRequest>& step();

  struct Use {
    int64_t sequences = 0, used_pages = 0, free_pages = 0;
    int64_t tokens = 0;  // that the last step read; 0: there was none
  };
  Use use() const;

  // Whether it keeps something for prompts that come later, and that it need not keep it any longer.
  bool keeps() const { return prefixes_ != nullptr && prefixes_->keeps(); }
  void forget();
  std::chrono::steady_clock::time_point last_step() const { return last_step_; }

 private:
  enum class State : uint8_t { joining, running, ended };
  struct Member {
    Call* call;
    Request* request;
    State state = State::joining;
    Interrupted interrupted = Interrupted::no;
    bool given_up = false;
  };

  int64_t requests() const { return static_cast<int64_t>(members_.size()); }
  int64_t sequences() const;
  RequestMemory::Need need() const;
  bool has_emptied() const;

  void interrupt();
  void join();
  void make_batch();
  void end(Member& member, const std::exception_ptr& failure);
  void fail(const std::exception_ptr& failure);

  WorkerTools tools_;
  Backend& backend_;
  std::unique_ptr<Stepper> stepper_;
  PrefixStepper* prefixes_ = nullptr;  // the stepper, where it is one
  std::unique_ptr<Speculation> speculation_;
  std::unique_ptr<RequestBatch> batch_;
  std::vector<Member> members_;
  std::vector<EndedRequest> ended_;
  int64_t joining_tokens_ = 0;
  int64_t tokens_of_step_ = 0;
  std::chrono::steady_clock::time_point last_step_;
  bool is_full_ = false, gathered_ = false;
};

}  // namespace heed
