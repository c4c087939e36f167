// The stepper of a decoder-only language model.
#pragma once

#include <unordered_map>

#include "decode/steppers/paged_stepper.h"

namespace heed {

class DecoderOnlyStepper final : public PagedStepper {
 public:
  DecoderOnlyStepper(const Inference& inference, const StepperOptions& options);

  std::vector<SequenceId> begin(std::span<const std::vector<int32_t>> sources) override;
  SequenceId fork(SequenceId sequence) override;
  void roll_back(SequenceId sequence, int64_t length) override;
  void remove(SequenceId sequence) override;

 private:
  Hidden hidden(const Sequences& tokens, std::span<const Extension> sequences,
                const std::vector<KeyValueView>& caches) override;
  Logits logits(const Hidden& hidden) override;
  // Says what is before these tokens, and remembers them.
  Sequences read_on(Sequences tokens, std::span<const Extension> sequences);

  const CausalLM& model_;
  std::unordered_map<int64_t, std::vector<int32_t>> read_;  // the tokens of each sequence, for a model with bigrams
};

}  // namespace heed
