// A stepper without a model, whose next tokens a test decides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "decode/steppers/stepper.h"

namespace heed::test {

// Keeps what was read of each sequence; the classes derived from it write the rows.
class FakeStepper : public Stepper {
 public:
  using Ids = std::vector<int32_t>;

  FakeStepper(int64_t vocabulary, int64_t max_length) : vocabulary_(vocabulary), max_length_(max_length) {}

  int64_t vocabulary() const override { return vocabulary_; }
  int64_t max_length() const override { return max_length_; }
  std::vector<SequenceId> begin(std::span<const Ids> sources) override {
    std::vector<SequenceId> sequences;
    for (size_t i = 0; i < sources.size(); ++i) {
      sequences.push_back(add({}));
    }
    return sequences;
  }
  SequenceId fork(SequenceId sequence) override { return add(read_.at(sequence.value)); }
  void roll_back(SequenceId sequence, int64_t length) override {
    read_.at(sequence.value).resize(static_cast<size_t>(length));
  }
  void remove(SequenceId sequence) override { read_.erase(sequence.value); }
  int64_t length(SequenceId sequence) const override { return static_cast<int64_t>(read_.at(sequence.value).size()); }
  NextTokens next(std::span<const NewTokens> new_tokens) override {
    rows_.clear();
    for (const NewTokens& f : new_tokens) {
      Ids& read = read_.at(f.sequence.value);
      for (size_t i = 0; i < f.tokens.size(); ++i) {
        read.push_back(f.tokens[i]);
        if (f.wanted == RowsWanted::all || (f.wanted == RowsWanted::last && i + 1 == f.tokens.size())) {
          rows_.resize(rows_.size() + static_cast<size_t>(vocabulary_), 0.0F);
          answer(read, std::span(rows_).last(static_cast<size_t>(vocabulary_)));
        }
      }
    }
    const auto rows = static_cast<int64_t>(rows_.size()) / vocabulary_;
    const HostView<float> view{rows_.data(), rows, vocabulary_, vocabulary_};
    return {view, view};
  }

  size_t sequences() const { return read_.size(); }
  std::vector<int64_t> lengths() const {  // of all sequences, ascending
    std::vector<int64_t> found;
    for (const auto& [sequence, read] : read_) {
      found.push_back(static_cast<int64_t>(read.size()));
    }
    std::ranges::sort(found);
    return found;
  }
  size_t max_sequences() const { return max_sequences_; }  // at a time, so far

 protected:
  // Writes the log-probabilities (and logits) of what follows `read`.
  virtual void answer(const Ids& read, std::span<float> row) = 0;

 private:
  SequenceId add(Ids read) {
    read_[next_] = std::move(read);
    max_sequences_ = std::max(max_sequences_, read_.size());
    return SequenceId{next_++};
  }

  int64_t vocabulary_, max_length_, next_ = 0;
  std::map<int64_t, Ids> read_;
  size_t max_sequences_ = 0;
  std::vector<float> rows_;
};

}  // namespace heed::test
