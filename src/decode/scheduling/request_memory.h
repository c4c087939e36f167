// How much memory a model's requests take while they run, and how much they may take.
#pragma once

#include "decode/scheduling/request.h"

namespace heed {

// Requests that know their length are admitted by it, so that the memory of a run does not grow with its number of
// lines. What is foreseen for a request grows when it turns out longer; none has to stop.
//
// A lane has pages of keys and values, and beside them the memory of the pass that runs: of the encoder, or of a step's
// scores. One pass follows the other in the same memory, so the larger counts.
class RequestMemory {
 public:
  // `step_bytes`: of the weights that a step reads. The more they are, the more memory requests may take: a step of a
  // few requests reads as many weights as a step of many.
  RequestMemory(const Inference& inference, int64_t step_bytes);

  // The most that requests will take.
  struct Need {
    int64_t cached = 0;  // bytes of keys and values
    int64_t scores = 0;  // bytes of the rows of a step: logits and log-probabilities

    Need& operator+=(const Need& other) {
      cached += other.cached;
      scores += other.scores;
      return *this;
    }
  };
  Need need_of(const Request& request) const;  // zeros where it does not know its length

  enum class Share : uint8_t { whole, three_quarters };
  // Whether requests of a lane keep to this share of the budget together. One alone may take more.
  bool fits(const Need& of_all, Share share = Share::whole) const;
  // The tokens of sources that are read together, so that the encoder's activations keep to the budget too.
  int64_t max_source_tokens() const { return max_source_tokens_; }
  // Tokens that caches have room for at first. To grow, they would have to be copied; room that is never written takes
  // no memory.
  int64_t tokens_at_first() const;

 private:
  int64_t pass_bytes_;   // for what is computed
  int64_t cache_bytes_;  // for pages
  int64_t max_source_tokens_;
  int64_t page_bytes_ = 0;  // of keys and values, in all models
  int64_t page_tokens_ = 0;
  int64_t bytes_of_column_ = 0;  // of a row of logits and of log-probabilities
  int64_t vocabulary_;
  int64_t max_cached_tokens_;  // of a sequence, also where only the latest are kept
};

}  // namespace heed
