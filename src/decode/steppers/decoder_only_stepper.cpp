#include "decode/steppers/decoder_only_stepper.h"

namespace heed {

DecoderOnlyStepper::DecoderOnlyStepper(const Inference& inference, const StepperOptions& options)
    : PagedStepper(inference, options), model_(inference.model.causal_lm()) {}

std::vector<SequenceId> DecoderOnlyStepper::begin(std::span<const std::vector<int32_t>> sources) {
  std::vector<SequenceId> sequences;
  for (const std::vector<int32_t>& source : sources) {
    require(source.empty(), "stepper", "a source of {} tokens for a model without an encoder", source.size());
    sequences.push_back(cache_.add());
  }
  return sequences;
}

Hidden DecoderOnlyStepper::hidden(const Sequences& tokens, std::span<const Extension> /*sequences*/,
                                  const std::vector<KeyValueView>& caches) {
  return model_.hidden(pass_, tokens, {.caches = &caches});
}

Logits DecoderOnlyStepper::logits(const Hidden& hidden) { return model_.logits(pass_, hidden); }

}  // namespace heed
