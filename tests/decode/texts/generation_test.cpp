#include "decode/texts/generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "decode/scheduling/request_batch.h"
#include "decode/steppers/fake_stepper.h"

namespace heed::test {
namespace {

using testing::ElementsAre;
using testing::Ne;
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

// Ends each text after this many tokens.
class Text final : public TextWriter {
 public:
  explicit Text(size_t tokens) : tokens_(tokens) {}

  Verdict take_token(const Written& written) override {
    text_.push_back(written.token);
    return text_.size() == tokens_ ? Verdict::ended : Verdict::go_on;
  }
  void interrupt(Interrupted /*why*/) override {}

  const Ids& text() const { return text_; }

 private:
  size_t tokens_;
  Ids text_;
};

// The texts that continue the prompts, of this many tokens each.
std::vector<Ids> texts_of(Stepper& stepper, const std::vector<Ids>& prompts, size_t tokens,
                          const SamplingOptions& options = {}) {
  const Sampler sampler(options, {});
  std::deque<Text> texts;
  std::deque<GenerationRequest> generations;
  std::vector<Request*> requests;
  for (const Ids& prompt : prompts) {
    const GenerationTask task{.prompt = prompt, .sampler = sampler};
    requests.push_back(&generations.emplace_back(task, texts.emplace_back(tokens)));
  }
  run_together(stepper, requests);
  std::vector<Ids> found;
  std::ranges::transform(texts, std::back_inserter(found), &Text::text);
  return found;
}

const std::vector<float> kEven(kFewTokens, 0.0F);

TEST(Generation, ATextThatFillsTheModelGoesOnFromItsLastHalf) {
  Recorder stepper(kEven, 8);
  texts_of(stepper, {Ids(5, 1)}, 10);
  EXPECT_THAT(stepper.read(), ElementsAre(5, 6, 7, 8, 4, 5, 6, 7, 8, 4));
  EXPECT_EQ(stepper.sequences(), 0U);
}

TEST(Generation, DrawsDependOnThePrompt) {
  Recorder stepper(kEven, 100);
  const std::vector<Ids> texts = texts_of(stepper, {{1}, {2}, {1}}, 20);
  EXPECT_THAT(texts[1], Ne(texts[0]));
  EXPECT_EQ(texts[2], texts[0]);
}

TEST(Generation, TheRepetitionPenaltyCountsThePromptToo) {
  Recorder stepper({0.0F, 2.0F, 1.5F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F}, 100);
  EXPECT_THAT(texts_of(stepper, {{1}, {3}}, 1, {.temperature = 0.0, .repetition_penalty = 2.0}),
              ElementsAre(ElementsAre(2), ElementsAre(1)));
}

}  // namespace
}  // namespace heed::test
