// The stepper of an encoder-decoder. The keys and values of a source are computed once and shared by forks.
#pragma once

#include <unordered_map>

#include "decode/paged_stepper.h"

namespace heed {

class EncoderDecoderStepper final : public PagedStepper {
 public:
  EncoderDecoderStepper(const Inference& inference, const StepperOptions& options);

  std::vector<SequenceId> begin(std::span<const std::vector<int32_t>> sources) override;
  SequenceId fork(SequenceId sequence) override;
  void remove(SequenceId sequence) override;

 private:
  // A source in memory_, and how many sequences read it.
  struct Source {
    SequenceId id;
    int64_t readers = 0;
  };

  Hidden hidden(const Sequences& tokens, std::span<const Extension> sequences,
                const std::vector<KeyValueView>& caches) override;
  Logits logits(const Hidden& hidden) override;
  Source& source_of(SequenceId sequence) { return sources_[source_numbers_.at(sequence.value)]; }

  const Seq2Seq& model_;
  KeyValueCache memory_;  // of the sources
  std::vector<Source> sources_;
  std::vector<size_t> free_sources_;
  std::unordered_map<int64_t, size_t> source_numbers_;  // of each sequence, in sources_

  // Of the last call.
  std::vector<SequenceId> read_;
  std::vector<int64_t> queries_;
};

}  // namespace heed
