#include "decode/encoder_decoder_stepper.h"

namespace heed {

EncoderDecoderStepper::EncoderDecoderStepper(const Inference& inference, const StepperOptions& options)
    : PagedStepper(inference, options),
      model_(inference.model.seq2seq()),
      memory_(inference.backend, inference.cache_type(),
              {.layers = layers_that_run(config_, options),
               .width = config_.heads_of_keys() * config_.width_of_head(),
               .value_width = config_.heads_of_keys() * config_.width_of_values(),
               .max_tokens = options.max_tokens,
               .heads = config_.heads_of_keys()}) {}

std::vector<SequenceId> EncoderDecoderStepper::begin(std::span<const std::vector<int32_t>> sources) {
  if (sources.empty()) {
    return {};
  }
  std::vector<Continuation> tokens;
  std::vector<Extension> extensions;
  for (const std::vector<int32_t>& source : sources) {
    tokens.push_back({source, 0});
    extensions.push_back({memory_.add(), static_cast<int64_t>(source.size())});
  }
  try {
    const SourceSequences batch(Sequences::continuing(tokens));
    const std::vector<KeyValueView>& caches = memory_.extend(extensions);
    model_.cache_memory(pass_, model_.encode(pass_, batch), caches);
  } catch (...) {
    for (const Extension& extension : extensions) {
      memory_.remove(extension.sequence);
    }
    throw;
  }
  std::vector<SequenceId> sequences;
  for (const Extension& extension : extensions) {
    if (free_sources_.empty()) {
      free_sources_.push_back(sources_.size());
      sources_.emplace_back();
    }
    const SequenceId sequence = sequences.emplace_back(cache_.add());
    source_numbers_[sequence.value] = free_sources_.back();
    sources_[free_sources_.back()] = {extension.sequence, 1};
    free_sources_.pop_back();
  }
  return sequences;
}

SequenceId EncoderDecoderStepper::fork(SequenceId sequence) {
  const SequenceId child = cache_.fork(sequence);
  const size_t source = source_numbers_.at(sequence.value);
  source_numbers_[child.value] = source;
  ++sources_[source].readers;
  return child;
}

void EncoderDecoderStepper::remove(SequenceId sequence) {
  cache_.remove(sequence);
  const auto number = source_numbers_.find(sequence.value);
  Source& source = sources_[number->second];
  if (--source.readers == 0) {
    memory_.remove(source.id);
    free_sources_.push_back(number->second);
  }
  source_numbers_.erase(number);
}

// Neighbours with the same source form one group of queries: attention reads the source's keys and values once for all.
Hidden EncoderDecoderStepper::hidden(const Sequences& tokens, std::span<const Extension> sequences,
                                     const std::vector<KeyValueView>& caches) {
  read_.clear();
  queries_.clear();
  for (const Extension& extension : sequences) {
    const SequenceId source = source_of(extension.sequence).id;
    if (read_.empty() || read_.back() != source) {
      read_.push_back(source);
      queries_.push_back(0);
    }
    queries_.back() += extension.tokens;
  }
  const Segments queries(queries_);
  return model_.decode_next(pass_, TargetSequences(tokens), {caches, memory_.view(read_), queries});
}

Logits EncoderDecoderStepper::logits(const Hidden& hidden) { return model_.logits(pass_, hidden); }

}  // namespace heed
