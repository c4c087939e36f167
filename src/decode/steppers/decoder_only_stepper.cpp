#include "decode/steppers/decoder_only_stepper.h"

#include <utility>

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

SequenceId DecoderOnlyStepper::fork(SequenceId sequence) {
  const SequenceId copy = PagedStepper::fork(sequence);
  if (const auto read = read_.find(sequence.value); read != read_.end()) {
    std::vector<int32_t> tokens = read->second;
    read_.emplace(copy.value, std::move(tokens));
  }
  return copy;
}

void DecoderOnlyStepper::roll_back(SequenceId sequence, int64_t length) {
  PagedStepper::roll_back(sequence, length);
  if (const auto read = read_.find(sequence.value); read != read_.end()) {
    read->second.resize(static_cast<size_t>(length));
  }
}

void DecoderOnlyStepper::remove(SequenceId sequence) {
  PagedStepper::remove(sequence);
  read_.erase(sequence.value);
}

Sequences DecoderOnlyStepper::read_on(Sequences tokens, std::span<const Extension> sequences) {
  std::vector<int32_t> before;
  for (size_t s = 0; s < sequences.size(); ++s) {
    std::vector<int32_t>& read = read_[sequences[s].sequence.value];
    before.push_back(read.empty() ? Sequences::kNothingBefore : read.back());
    const std::span<const int32_t> added = tokens.sequence(static_cast<int64_t>(s));
    read.insert(read.end(), added.begin(), added.end());
  }
  tokens.set_before_first(std::move(before));
  return tokens;
}

Hidden DecoderOnlyStepper::hidden(const Sequences& tokens, std::span<const Extension> sequences,
                                  const std::vector<KeyValueView>& caches) {
  return config_.bigrams == 0 ? model_.hidden(pass_, tokens, {.caches = &caches})
                              : model_.hidden(pass_, read_on(tokens, sequences), {.caches = &caches});
}

Logits DecoderOnlyStepper::logits(const Hidden& hidden) { return model_.logits(pass_, hidden); }

}  // namespace heed
