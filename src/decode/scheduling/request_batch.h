// Requests that share the steps of one stepper.
#pragma once

#include <exception>
#include <optional>

#include "decode/scheduling/request.h"

namespace heed {

// Parts of prompts fill a step up to this many tokens: enough for products at full rate. A longer prompt is read in
// several steps, so that the others need not wait for it.
constexpr int64_t kStepTokens = 512;

// The result of a request depends neither on the others nor on when it joined, to the last bit.
class RequestBatch {
 public:
  RequestBatch(Stepper& stepper, Speculation* speculation) : context_{stepper, speculation, memory_} {}
  ~RequestBatch() = default;
  RequestBatch(const RequestBatch&) = delete;
  RequestBatch& operator=(const RequestBatch&) = delete;

  bool empty() const { return members_.empty(); }

  struct Joining {
    Request* request;
    int priority = 0;  // prompts of a higher one are read first
  };
  // BudgetError when there is no room; then none has joined.
  void join(std::span<const Joining> joining);
  void join(std::span<Request* const> requests);  // with one priority
  // The request leaves before it is done.
  void remove(Request& request);

  struct Ended {
    Request* request;
    std::exception_ptr failure;  // what it threw; null: it is done
  };
  // Returns the requests that left in this step. What the stepper throws goes to the caller; after that the
  // batch cannot be used.
  const std::vector<Ended>& step();
  int64_t tokens() const { return tokens_; }  // that the last step read, without those that it had from others

 private:
  struct Member {
    Request* request;
    int priority;
    std::optional<NewTokens> prompt;  // what is left of one that is read in parts
    int64_t first_row = 0, rows = 0;  // that it gets in this step
  };

  void begin_drafts();
  void list_new_tokens();
  void list_part(Member& member, int64_t most);
  void add(Member& member, const NewTokens& new_tokens);
  void give_rows(const NextTokens& next);

  SamplingMemory memory_;
  StepContext context_;
  std::vector<Member> members_;  // by priority, and then in the order in which they came
  std::vector<Ended> ended_;
  std::vector<DraftTask> tasks_;
  std::vector<NewTokens> asked_, new_tokens_;
  int64_t tokens_ = 0, rows_ = 0;  // of new_tokens_
};

// Runs requests together until all are done, and throws what the first of them threw.
void run_together(Stepper& stepper, std::span<Request* const> requests, Speculation* speculation = nullptr);

}  // namespace heed
