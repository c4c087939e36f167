// How much memory a model's requests take while they run, and how much they may take.
#pragma once

#include "decode/scheduling/request.h"

namespace heed {

// Requests that know their length are admitted by it, so that the memory of a run does not grow with its number of
// lines. What is foreseen for a request grows when it turns out longer; none has to stop.
class RequestMemory {
 public:
  // `step_bytes`: of the weights that a step reads. With these, more may be taken: a step of a few requests reads as
  // many weights as one of many.
  RequestMemory(const Inference& inference, int64_t step_bytes);

  int64_t budget() const { return budget_; }  // of all requests of a lane; one alone may take more
  // The keys and values that the request will have cached, and its rows of logits. 0: it does not know its length.
  int64_t bytes_of(const Request& request) const;
  // The tokens of sources that are read together, so that the encoder's activations keep to the budget too.
  int64_t max_source_tokens() const { return max_source_tokens_; }
  // Tokens that fit the budget: caches that begin with as many need not grow, for which they would be copied.
  int64_t tokens_in_budget() const;

 private:
  int64_t budget_, max_source_tokens_;
  int64_t page_bytes_ = 0;       // of keys and values, in all models
  int64_t bytes_of_column_ = 0;  // of a row of logits and of log-probabilities
  int64_t vocabulary_;
  int64_t max_cached_tokens_;  // of a sequence, also where only the latest are kept
};

}  // namespace heed
