#include "decode/scheduling/request_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "decode/search/search.h"
#include "decode/steppers/fake_stepper.h"
#include "decode/texts/generation.h"
#include "heed/errors.h"

namespace heed::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Le;
using Ids = std::vector<int32_t>;

// All tokens are as likely; writes down how many tokens each step reads.
class CountingStepper final : public FakeStepper {
 public:
  CountingStepper() : FakeStepper(8, 4000) {}

  NextTokens next(std::span<const NewTokens> new_tokens) override {
    int64_t tokens = 0;
    for (const NewTokens& f : new_tokens) {
      tokens += static_cast<int64_t>(f.tokens.size());
    }
    read_.push_back(tokens);
    return FakeStepper::next(new_tokens);
  }

  const std::vector<int64_t>& read() const { return read_; }

 private:
  void answer(const Ids& /*read*/, std::span<float> row) override { std::ranges::fill(row, 0.0F); }

  std::vector<int64_t> read_;
};

// Writes down the steps at which tokens came, by a clock that the test moves.
class Times final : public TextWriter {
 public:
  Times(size_t tokens, const size_t& clock) : tokens_(tokens), clock_(clock) {}

  Verdict take_token(const Written& /*written*/) override {
    times_.push_back(clock_);
    return times_.size() == tokens_ ? Verdict::ended : Verdict::go_on;
  }
  void interrupt(Interrupted /*why*/) override {}

  const std::vector<size_t>& times() const { return times_; }

 private:
  size_t tokens_;
  const size_t& clock_;
  std::vector<size_t> times_;
};

TEST(RequestBatch, ALongPromptIsReadInPartsWhileOthersWrite) {
  CountingStepper stepper;
  const Sampler sampler({}, {});
  const Ids shorts{1}, longs(1200, 1);
  size_t clock = 0;
  Times of_short(5, clock), of_long(2, clock);
  GenerationRequest first({.prompt = shorts, .sampler = sampler}, of_short);
  GenerationRequest second({.prompt = longs, .sampler = sampler}, of_long);
  RequestBatch batch(stepper, nullptr);
  std::vector<Request*> requests{&second, &first};
  batch.join(requests);
  for (; !batch.empty(); ++clock) {
    batch.step();
  }
  EXPECT_THAT(of_short.times(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(of_long.times(), ElementsAre(2, 3));
  EXPECT_THAT(stepper.read(), ElementsAre(512, 512, 179, 2, 1));
  EXPECT_EQ(stepper.sequences(), 0U);
}

TEST(RequestBatch, APromptGoesOnHoweverManyOthersRead) {
  CountingStepper stepper;
  const Sampler sampler({}, {});
  const Ids shorts{1}, longs(200, 1);
  size_t clock = 0;
  Times of_long(1, clock);
  std::deque<Times> of_shorts;
  std::deque<GenerationRequest> generations;
  std::vector<Request*> requests;
  for (int i = 0; i < 600; ++i) {
    Times& times = of_shorts.emplace_back(6, clock);
    requests.push_back(&generations.emplace_back(GenerationTask{.prompt = shorts, .sampler = sampler}, times));
  }
  requests.push_back(&generations.emplace_back(GenerationTask{.prompt = longs, .sampler = sampler}, of_long));
  RequestBatch batch(stepper, nullptr);
  batch.join(requests);
  for (; !batch.empty(); ++clock) {
    batch.step();
  }
  EXPECT_THAT(of_long.times(), ElementsAre(3)) << "by 64 tokens a step";
  EXPECT_THAT(stepper.read(), Each(Le(664)));
}

TEST(RequestBatch, ARequestThatThrowsLeavesAndTheOthersContinue) {
  class Throws final : public TextWriter {
   public:
    Verdict take_token(const Written& /*written*/) override { throw FormatError("full"); }
    void interrupt(Interrupted /*why*/) override {}
  };
  CountingStepper stepper;
  const Sampler sampler({}, {});
  const Ids prompt{1};
  size_t clock = 0;
  Times times(3, clock);
  Throws throws;
  GenerationRequest bad({.prompt = prompt, .samples = 3, .sampler = sampler}, throws);
  GenerationRequest good({.prompt = prompt, .sampler = sampler}, times);
  std::vector<Request*> requests{&bad, &good};
  EXPECT_THROW(run_together(stepper, requests), FormatError);
  EXPECT_EQ(times.times().size(), 3U);
  EXPECT_EQ(stepper.sequences(), 0U);
}

TEST(RequestBatch, RemovingARequestRemovesAllItsSequences) {
  CountingStepper stepper;
  const Sampler sampler({}, {});
  const Ids prompt{1};
  size_t clock = 0;
  Times times(3, clock);
  GenerationRequest samples({.prompt = prompt, .samples = 4, .sampler = sampler}, times);
  const TranslationOptions options{.beam = 3};
  const SearchRules rules;
  SearchRequest search({{}, prompt, 9}, options, rules, sampler);
  RequestBatch batch(stepper, nullptr);
  std::vector<Request*> requests{&samples, &search};
  batch.join(requests);
  batch.step();
  EXPECT_GT(stepper.sequences(), 5U);
  batch.remove(samples);
  batch.remove(search);
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(stepper.sequences(), 0U);
}

}  // namespace
}  // namespace heed::test
