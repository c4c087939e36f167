// A model that continues sequences: the interface that search and sampling use, whatever the architecture.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "decode/cache/key_value_cache.h"
#include "models/any_model.h"

namespace heed {

// After which of a sequence's new tokens the caller needs the next-token distribution. Only those are projected to the
// vocabulary.
enum class RowsWanted : uint8_t { none, last, all };

// What is needed of these distributions. Where nobody needs logits they are not kept, nor converted.
enum class ScoresWanted : uint8_t { log_probs, logits_too };

// A sequence's new tokens.
struct NewTokens {
  SequenceId sequence;
  std::span<const int32_t> tokens;  // at least one
  RowsWanted wanted = RowsWanted::last;
  ScoresWanted scores = ScoresWanted::logits_too;
};

// Next-token distributions: a row over the vocabulary for each wanted token, in order.
//   log_probs = logits - log(sum of e^logits)
// The row of a sequence with candidates is over these, in their order; columns after them mean nothing. Where one of
// the sequences has candidates, or where nobody wants logits, there are none.
struct NextTokens {
  HostView<float> logits, log_probs;
};

// The only tokens that may come next in a sequence: ascending, each once, and at least one.
struct Candidates {
  SequenceId sequence;
  std::span<const int32_t> tokens;
};

// The pages of keys and values that sequences read, and others that memory was taken for.
struct CacheUse {
  int64_t used_pages = 0, free_pages = 0;
};

struct StepperOptions {
  int64_t max_tokens = 0;  // cached for all sequences, and as many for all sources; 0: as many as memory holds
  int64_t begin_with = 0;  // tokens that the caches have room for at first; 0: some
  int64_t roll_back = 0;   // tokens that can always be rolled back, also where all layers are local or linear
  int64_t layers = 0;      // only this many of the decoder's layers run, from the first, then its final norm; 0: all
};

// Sequences begin, fork, roll back and leave between steps. What comes next in a sequence does not depend on the other
// sequences, nor on how its tokens were divided into calls, to the last bit. One caller at a time.
class Stepper {
 public:
  virtual ~Stepper() = default;
  Stepper() = default;
  Stepper(const Stepper&) = delete;
  Stepper& operator=(const Stepper&) = delete;

  virtual int64_t vocabulary() const = 0;
  virtual int64_t max_length() const = 0;  // tokens of a sequence

  // Begins an empty sequence for each source. An encoder-decoder reads the sources here, all in one batch; a model
  // without an encoder takes empty ones. BudgetError when there is no room for them; then none has begun.
  virtual std::vector<SequenceId> begin(std::span<const std::vector<int32_t>> sources) = 0;
  // Gives candidates to sequences that have just begun, and to all that will fork from them. It is fastest to name
  // sequences in one call that will take their steps together. The default throws InternalError: the model cannot.
  virtual void restrict_to(std::span<const Candidates> candidates);
  virtual SequenceId fork(SequenceId sequence) = 0;
  // Drops the tokens from position `length` on. Where all layers are local or linear, this is limited to the tokens of
  // the last step, or to StepperOptions::roll_back of them.
  virtual void roll_back(SequenceId sequence, int64_t length) = 0;
  virtual void remove(SequenceId sequence) = 0;
  virtual int64_t length(SequenceId sequence) const = 0;
  virtual CacheUse cache_use() const { return {}; }
  // The bytes of pages that none but these sequences read.
  virtual int64_t bytes_only_of(std::span<const SequenceId> /*sequences*/) const { return 0; }
  // How many of the tokens that a sequence is to read it can have from others that read them, and costs next() nothing.
  virtual int64_t known_tokens(SequenceId /*sequence*/, std::span<const int32_t> /*tokens*/) const { return 0; }
  // How many of the tokens that a sequence has read it has from others.
  virtual int64_t copied_tokens(SequenceId /*sequence*/) const { return 0; }

  // Adds tokens to sequences, each named once. Sequences of one source should be neighbours, which is fastest. However
  // many tokens there are, they go through the model in passes of bounded size. BudgetError when there is no room for
  // them; then no sequence has changed. The result is valid until the next call of this or begin().
  virtual NextTokens next(std::span<const NewTokens> new_tokens) = 0;
};

// ConfigError when the model's keys and values can't be cached in the type that is asked for.
void require_cache_type(const Inference& inference);

// The stepper of a model. ConfigError when the model can't continue sequences. What `inference` refers to must outlive
// it.
std::unique_ptr<Stepper> make_stepper(const Inference& inference, const StepperOptions& options = {});

}  // namespace heed
