// The stepper of a decoder-only language model.
#pragma once

#include "decode/steppers/paged_stepper.h"

namespace heed {

class DecoderOnlyStepper final : public PagedStepper {
 public:
  DecoderOnlyStepper(const Inference& inference, const StepperOptions& options);

  std::vector<SequenceId> begin(std::span<const std::vector<int32_t>> sources) override;

 private:
  Hidden hidden(const Sequences& tokens, std::span<const Extension> sequences,
                const std::vector<KeyValueView>& caches) override;
  Logits logits(const Hidden& hidden) override;

  const CausalLM& model_;
};

}  // namespace heed
