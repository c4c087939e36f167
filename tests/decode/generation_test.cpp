#include "decode/generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "decode/fake_stepper.h"

namespace heed::test {
namespace {

using testing::ElementsAre;
using testing::Ne;
using testing::SizeIs;
using Ids = std::vector<int32_t>;

constexpr int64_t kFewTokens = 8;

// Says the same after whatever it reads, and writes down how it is used.
class Recorder final : public FakeStepper {
 public:
  Recorder(std::vector<float> logits, int64_t max_length)
      : FakeStepper(kFewTokens, max_length), logits_(std::move(logits)) {}

  const std::vector<int64_t>& read() const { return lengths_; }  // the length of each sequence, at each step

 private:
  void answer(const Ids& read, std::span<float> row) override {
    lengths_.push_back(static_cast<int64_t>(read.size()));
    std::ranges::copy(logits_, row.begin());
  }

  std::vector<float> logits_;
  std::vector<int64_t> lengths_;
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

const std::vector<float> kEven(kFewTokens, 0.0F);

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
}  // namespace heed::test
