// The common part of steppers that cache the keys and values of all tokens: the cache, passes of bounded size, the
// choice of wanted rows.
#pragma once

#include "decode/steppers/stepper.h"

namespace heed {

// How many of the decoder's layers run. ConfigError when it has fewer.
int64_t layers_that_run(const ModelConfig& config, const StepperOptions& options);
// The shape of a cache of these layers' keys and values, of all tokens.
CacheShape cache_shape(const ModelConfig& config, const StepperOptions& options);
// The shape of the pages that all caches of a model take: as wide as the widest needs.
CacheShape pool_shape(const ModelConfig& config, const StepperOptions& options);

class PagedStepper : public Stepper {
 public:
  PagedStepper(const Inference& inference, const StepperOptions& options);

  int64_t vocabulary() const override { return config_.target_vocabulary; }
  int64_t max_length() const override { return config_.max_length; }
  SequenceId fork(SequenceId sequence) override { return cache_.fork(sequence); }
  void roll_back(SequenceId sequence, int64_t length) override { cache_.roll_back(sequence, length); }
  void remove(SequenceId sequence) override { cache_.remove(sequence); }
  int64_t length(SequenceId sequence) const override { return cache_.length(sequence); }
  CacheUse cache_use() const override { return {pool_.in_use(), pool_.free()}; }
  int64_t bytes_only_of(std::span<const SequenceId> sequences) const override {
    return cache_.pages_only_of(sequences) * pool_.bytes_of_page();
  }
  NextTokens next(std::span<const NewTokens> new_tokens) override;

 protected:
  // The stack's output for these tokens; `caches` have room for their keys and values.
  virtual Hidden hidden(const Sequences& tokens, std::span<const Extension> sequences,
                        const std::vector<KeyValueView>& caches) = 0;
  virtual Logits logits(const Hidden& hidden) = 0;
  // How many columns the rows of these sequences need if one of them has candidates; 0: none has.
  virtual int64_t columns_of_candidates(std::span<const NewTokens> /*new_tokens*/) const { return 0; }
  // Replaces logits() if one has: a row for each row of `hidden`, which belongs to the sequence of the same index.
  virtual void write_log_probs(const Hidden& hidden, std::span<const SequenceId> sequences, View log_probs);

  // Frees the results of the last call, so that a pass can use their memory.
  void drop_results();
  Backend& backend() { return pass_.backend(); }
  const ModelConfig& config_;
  Pass pass_;
  PagePool pool_;  // of all caches
  KeyValueCache cache_;

 private:
  // The tokens of a sequence in one pass. The next-token distributions after the last `wanted` of them are needed.
  struct PassInput {
    SequenceId sequence;
    std::span<const int32_t> tokens;
    int64_t wanted;
  };

  int64_t check(std::span<const NewTokens> new_tokens) const;
  int64_t run(std::span<const PassInput> inputs);
  NextTokens next_in_passes(std::span<const NewTokens> new_tokens);
  int64_t run_and_keep(std::span<const PassInput> inputs, int64_t first_row);

  // What run() left: the rows that are wanted, and the sequence of each.
  Hidden hidden_;
  std::vector<SequenceId> wanted_sequences_;
  int64_t candidate_columns_ = 0;  // of this call; 0: no sequence has candidates
  bool wants_logits_ = false;      // in this call
  Tensor candidate_log_probs_;

  // The results of the last call, and vectors that reuse their memory.
  Logits logits_;
  LogProbs log_probs_;
  Tensor all_logits_, all_log_probs_;  // of several passes
  std::vector<PassInput> inputs_;
  std::vector<Extension> extensions_;
  std::vector<Continuation> continuations_;
  std::vector<int32_t> wanted_rows_;
};

}  // namespace heed
