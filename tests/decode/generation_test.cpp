#include "decode/generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace heed {
namespace {

using testing::ElementsAre;
using testing::Ne;
using testing::SizeIs;
using Ids = std::vector<int32_t>;

constexpr int64_t kVocabulary = 8;

// Says the same after whatever it reads, and writes down how it is used.
class Recorder final : public Stepper {
 public:
  Recorder(std::vector<float> logits, int64_t max_length) : logits_(std::move(logits)), max_length_(max_length) {}

  int64_t vocabulary() const override { return kVocabulary; }
  int64_t max_length() const override { return max_length_; }
  std::vector<SequenceId> begin(std::span<const std::vector<int32_t>> sources) override {
    std::vector<SequenceId> sequences;
    for (size_t i = 0; i < sources.size(); ++i) {
      sequences.push_back(add(0));
    }
    return sequences;
  }
  SequenceId fork(SequenceId sequence) override { return add(lengths_.at(sequence.value)); }
  void roll_back(SequenceId sequence, int64_t length) override { lengths_.at(sequence.value) = length; }
  void remove(SequenceId sequence) override { lengths_.erase(sequence.value); }
  int64_t length(SequenceId sequence) const override { return lengths_.at(sequence.value); }
  NextTokens next(std::span<const Fresh> fresh) override {
    rows_.clear();
    for (const Fresh& f : fresh) {
      read_.push_back(lengths_.at(f.sequence.value) += static_cast<int64_t>(f.tokens.size()));
      rows_.insert(rows_.end(), logits_.begin(), logits_.end());
    }
    const HostView<float> view{rows_.data(), static_cast<int64_t>(fresh.size()), kVocabulary, kVocabulary};
    return {view, view};
  }

  size_t sequences() const { return lengths_.size(); }
  size_t max_sequences() const { return max_; }
  const std::vector<int64_t>& read() const { return read_; }  // the length of each sequence, at each step

 private:
  SequenceId add(int64_t length) {
    lengths_[next_] = length;
    max_ = std::max(max_, lengths_.size());
    return SequenceId{next_++};
  }

  std::vector<float> logits_, rows_;
  int64_t max_length_, next_ = 0;
  std::map<int64_t, int64_t> lengths_;
  size_t max_ = 0;
  std::vector<int64_t> read_;
};

// Hands out prompts, and ends each text after so many tokens.
class Prompts final : public GenerationClient {
 public:
  Prompts(std::vector<Ids> prompts, size_t tokens) : prompts_(std::move(prompts)), tokens_(tokens) {}

  std::optional<GenerationTask> take_task() override {
    return next_ == prompts_.size() ? std::nullopt : std::optional(GenerationTask{next_, prompts_[next_++]});
  }
  Verdict take_token(const Written& written) override {
    Ids& text = texts_[written.task];
    text.push_back(written.token);
    return text.size() == tokens_ ? Verdict::ended : Verdict::go_on;
  }

  const Ids& text(size_t prompt) { return texts_[prompt]; }

 private:
  std::vector<Ids> prompts_;
  size_t tokens_, next_ = 0;
  std::map<size_t, Ids> texts_;
};

const std::vector<float> kEven(kVocabulary, 0.0F);

TEST(Generation, ATextThatFillsTheModelGoesOnFromItsLastHalf) {
  Recorder stepper(kEven, 8);
  Prompts prompts({Ids(5, 1)}, 10);
  generate(stepper, {.sampling = {}, .suppressed = {}}, prompts);
  EXPECT_THAT(stepper.read(), ElementsAre(5, 6, 7, 8, 4, 5, 6, 7, 8, 4));
  EXPECT_EQ(stepper.sequences(), 0U);
}

TEST(Generation, AsManyTextsAreWrittenAtOnceAsAreAllowed) {
  Recorder stepper(kEven, 100);
  Prompts prompts({{1}, {2}, {3}, {4}, {5}}, 3);
  generate(stepper, {.sampling = {}, .suppressed = {}, .max_texts = 2}, prompts);
  EXPECT_EQ(stepper.max_sequences(), 2U);
  EXPECT_EQ(stepper.sequences(), 0U);
  EXPECT_THAT(prompts.text(4), SizeIs(3));
}

TEST(Generation, DrawsDependOnThePrompt) {
  Recorder stepper(kEven, 100);
  Prompts prompts({{1}, {2}, {1}}, 20);
  generate(stepper, {.sampling = {}, .suppressed = {}}, prompts);
  EXPECT_THAT(prompts.text(1), Ne(prompts.text(0)));
  EXPECT_EQ(prompts.text(2), prompts.text(0));
}

TEST(Generation, TheRepetitionPenaltyCountsThePromptToo) {
  Recorder stepper({0.0F, 2.0F, 1.5F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F}, 100);
  Prompts prompts({{1}, {3}}, 1);
  generate(stepper, {.sampling = {.temperature = 0.0, .repetition_penalty = 2.0}, .suppressed = {}}, prompts);
  EXPECT_THAT(prompts.text(0), ElementsAre(2));
  EXPECT_THAT(prompts.text(1), ElementsAre(1));
}

}  // namespace
}  // namespace heed
