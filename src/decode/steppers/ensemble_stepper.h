// The stepper of an ensemble: models of one vocabulary, whose probabilities of each next token are averaged.
//   p(token) = (sum over models k of p_k(token)) / K
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "decode/steppers/stepper.h"

namespace heed {

class EnsembleStepper final : public Stepper {
 public:
  // At least one member, all with the same budget. The backend takes the mean, and must outlive the stepper.
  EnsembleStepper(std::vector<std::unique_ptr<Stepper>> members, Backend& backend);

  int64_t vocabulary() const override { return members_.front()->vocabulary(); }
  int64_t max_length() const override;
  std::vector<SequenceId> begin(std::span<const std::vector<int32_t>> sources) override;
  void restrict_to(std::span<const Candidates> candidates) override;
  SequenceId fork(SequenceId sequence) override;
  void roll_back(SequenceId sequence, int64_t length) override;
  void remove(SequenceId sequence) override;
  CacheUse cache_use() const override;
  int64_t bytes_only_of(std::span<const SequenceId> sequences) const override;
  int64_t length(SequenceId sequence) const override;
  // A row's logits are its log-probabilities plus the mean, over the members, of logit - log-probability, which is the
  // same in all columns. So equal members have the logits of one of them.
  NextTokens next(std::span<const NewTokens> new_tokens) override;

 private:
  using MemberIds = std::vector<SequenceId>;  // what each member calls a sequence

  SequenceId add(MemberIds ids);
  const MemberIds& ids_of(SequenceId sequence) const;
  void take_back(std::span<const MemberIds> begun);
  std::vector<NewTokens> new_tokens_of_member(std::span<const NewTokens> new_tokens, size_t member) const;
  // When member `full` has no room for these tokens, the members before it drop them again.
  void undo(std::span<const NewTokens> new_tokens, size_t full);
  NextTokens mean_of(std::span<const NextTokens> found);
  HostView<float> logits_of(std::span<const NextTokens> found, const HostView<float>& log_probs);

  std::vector<std::unique_ptr<Stepper>> members_;
  Backend& backend_;
  std::unordered_map<int64_t, MemberIds> sequences_;
  int64_t next_id_ = 0;
  std::vector<float> log_probs_, logits_;  // of the last call
};

}  // namespace heed
