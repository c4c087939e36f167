// Sequences that begin alike read what they begin with once.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "decode/steppers/stepper.h"
#include "heed/types/writing/prefixes.h"

namespace heed {

// The sum of all workers' reports.
class PrefixLog {
 public:
  void add(const PrefixReport& more);
  PrefixReport report() const;

 private:
  mutable std::mutex mutex_;
  PrefixReport report_;
};

// Whether what a sequence of this model has read can be cut anywhere: not where keys and values leave the cache, nor
// where layers keep sums instead.
bool has_prefixes(const Inference& inference);

// A sequence that is to read a prompt begins as a copy of another one, as far as that has the same tokens. Copies share
// pages, so that this costs no products and hardly any memory; keys and values have the bits that reading would give
// them. The other one may be in use, or have been removed: those stay for later, the least recently used going first.
class PrefixStepper final : public Stepper {
 public:
  // The model has_prefixes(). At most so many bytes of pages stay that no sequence in use reads. The log, if there is
  // one, gets the report.
  PrefixStepper(std::unique_ptr<Stepper> model, int64_t most_bytes, PrefixLog* log = nullptr);

  int64_t vocabulary() const override { return model_->vocabulary(); }
  int64_t max_length() const override { return model_->max_length(); }
  std::vector<SequenceId> begin(std::span<const std::vector<int32_t>> sources) override;
  SequenceId fork(SequenceId sequence) override;
  void roll_back(SequenceId sequence, int64_t length) override;
  void remove(SequenceId sequence) override;
  int64_t length(SequenceId sequence) const override { return std::ssize(live_.at(sequence.value).tokens); }
  int64_t known_tokens(SequenceId sequence, std::span<const int32_t> tokens) const override;
  int64_t copied_tokens(SequenceId sequence) const override { return live_.at(sequence.value).copied; }
  CacheUse cache_use() const override { return model_->cache_use(); }
  // A BudgetError means that there is no room although nothing else stays.
  NextTokens next(std::span<const NewTokens> new_tokens) override;

  bool keeps() const { return !kept_.empty(); }
  void forget();  // what stays for later

 private:
  struct Sequence {
    SequenceId id;  // of the model
    std::vector<int32_t> tokens = {};
    bool reads_prompt = false;
    int64_t copied = 0;  // of the tokens, from others
  };
  // Another sequence that begins with the same tokens, and how many these are.
  struct Match {
    SequenceId id{-1};
    size_t tokens = 0;
  };

  Match match(const Sequence& sequence, std::span<const int32_t> tokens) const;
  void use_match(Sequence& sequence, const Match& match);
  size_t begin_as_others(std::span<const NewTokens> new_tokens);
  NextTokens next_of_model(std::span<const NewTokens> new_tokens);
  void keep(Sequence sequence);
  bool forget_least_recent();

  std::unique_ptr<Stepper> model_;
  int64_t most_bytes_;
  PrefixLog* log_;
  std::map<int64_t, Sequence> live_;
  std::list<Sequence> kept_;  // the least recently used first
  int64_t next_id_ = 0;

  std::vector<NewTokens> asked_;  // of the model, in this call
  std::vector<size_t> lengths_;   // of the sequences before this call
  mutable std::vector<SequenceId> kept_ids_;
};

}  // namespace heed
