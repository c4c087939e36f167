// The stepper of an encoder-decoder. The keys and values of a source are computed once and shared by forks.
//
// Sources with candidates that begin together form groups. The rows of the output projection that any of a group's
// sources needs are gathered once, when they begin, and freed with the last of them. Each step multiplies the group's
// hypotheses by the group's rows; each source then takes the columns of its own candidates, whose values and whose sum
// do not depend on the other sources.
#pragma once

#include <memory>
#include <unordered_map>

#include "decode/steppers/paged_stepper.h"

namespace heed {

class EncoderDecoderStepper final : public PagedStepper {
 public:
  EncoderDecoderStepper(const Inference& inference, const StepperOptions& options);

  std::vector<SequenceId> begin(std::span<const std::vector<int32_t>> sources) override;
  void restrict_to(std::span<const Candidates> candidates) override;
  SequenceId fork(SequenceId sequence) override;
  void remove(SequenceId sequence) override;

 private:
  struct CandidateGroup {
    OutputRows rows;
    Tensor columns;  // i32: of each source's candidates, source by source, among the rows
  };
  // A source in memory_, and how many sequences read it.
  struct Source {
    SequenceId id;
    int64_t readers = 0;
    std::shared_ptr<const CandidateGroup> group = nullptr;  // null: it may write all tokens
    int32_t begin = 0, end = 0;                             // of its columns in the group
  };

  Hidden hidden(const Sequences& tokens, std::span<const Extension> sequences,
                const std::vector<KeyValueView>& caches) override;
  Logits logits(const Hidden& hidden) override;
  int64_t columns_of_candidates(std::span<const NewTokens> new_tokens) const override;
  void write_log_probs(const Hidden& hidden, std::span<const SequenceId> sequences, View log_probs) override;
  void gather(std::span<const Candidates> group);
  void write_over_all(const Hidden& hidden, std::span<const int32_t> rows, View log_probs);
  void write_over_candidates(const CandidateGroup& group, ConstView hidden, std::span<const SequenceId> sequences,
                             View log_probs);
  const Source& source_of(SequenceId sequence) const { return sources_[source_numbers_.at(sequence.value)]; }

  const Seq2Seq& model_;
  KeyValueCache memory_;  // of the sources
  std::vector<Source> sources_;
  std::vector<size_t> free_sources_;
  std::unordered_map<int64_t, size_t> source_numbers_;  // of each sequence, in sources_

  // Results of the last call.
  std::vector<SequenceId> read_;
  std::vector<int64_t> queries_;
  std::vector<int32_t> begins_, ends_, column_of_token_;
};

}  // namespace heed
