// What takes part in a model's steps: a prompt or a source, with the sequences that continue it. A request knows
// neither the other requests of a step nor where it came from.
#pragma once

#include <span>
#include <vector>

#include "base/interruption.h"
#include "decode/drafts/speculation.h"
#include "decode/sampling/sampling.h"
#include "decode/steppers/stepper.h"

namespace heed {

// What a request works with while it runs.
struct StepContext {
  Stepper& stepper;
  Speculation* speculation;  // null without drafts
  SamplingMemory& memory;
};

class Request {
 public:
  virtual ~Request() = default;
  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  // What the model's encoder reads; empty where there is none.
  virtual std::span<const int32_t> source() const = 0;
  // The only tokens that it may write, as in Candidates; none: it may write all.
  virtual std::span<const int32_t> candidates() const { return {}; }
  // How many tokens its sequences will probably have in the end, what they continue included, where at most the latest
  // `cached` of each are kept; tokens that several share count once. 0: it cannot know, and takes part whatever memory
  // that needs.
  virtual int64_t expected_tokens(int64_t /*cached*/) const { return 0; }
  virtual int64_t max_sequences() const = 0;                     // at once
  virtual int64_t sequences() const { return max_sequences(); }  // that it has, or will have when it has begun

  // Gives it its first sequence, which is empty. The request removes it in the end, and all that it forks from it.
  virtual void begin(const StepContext& context, SequenceId sequence) = 0;
  // Before a step: adds the texts that a draft can continue, and then what its sequences read, drafts included. The
  // tokens must stay in memory until they have been read, which takes several steps if there are many.
  virtual void add_drafts(std::vector<DraftTask>& tasks) = 0;
  virtual void add_new_tokens(std::vector<NewTokens>& new_tokens) = 0;
  // After the step: takes the rows that it wanted, from `first_row` on. Returns how many tokens were written.
  virtual int64_t take(const NextTokens& next, int64_t first_row) = 0;
  virtual bool done() const = 0;

  // Removes its sequences: it takes no further step.
  virtual void leave() = 0;
  // It ends here, whether it has begun or not.
  virtual void interrupt(Interrupted why) = 0;
};

}  // namespace heed
