#include "decode/steppers/prefix_stepper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "decode/language_model_testing.h"
#include "decode/steppers/fake_stepper.h"
#include "heed/errors.h"

namespace heed::test {
namespace {

using testing::ElementsAre;
using Ids = std::vector<int32_t>;

// Numbers from `first` on.
Ids numbers(int32_t first, size_t count) {
  Ids ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

// A token has a byte, and a step as much room as the test says. Logits are the sum of what was read.
class SummingStepper final : public FakeStepper {
 public:
  SummingStepper() : FakeStepper(2, 10'000) {}

  NextTokens next(std::span<const NewTokens> new_tokens) override {
    int64_t tokens = 0;
    for (const NewTokens& one : new_tokens) {
      tokens += std::ssize(one.tokens);
    }
    const std::vector<int64_t> held = lengths();
    require<BudgetError>(std::accumulate(held.begin(), held.end(), tokens) <= room, "cache", "is full");
    read.push_back(tokens);
    return FakeStepper::next(new_tokens);
  }
  int64_t bytes_only_of(std::span<const SequenceId> sequences) const override {
    int64_t bytes = 0;
    for (const SequenceId sequence : sequences) {
      bytes += length(sequence);
    }
    return bytes;
  }

  std::vector<int64_t> read;  // in each step
  int64_t room = 1'000'000;

 private:
  void answer(const Ids& ids, std::span<float> row) override {
    std::ranges::fill(row, static_cast<float>(std::accumulate(ids.begin(), ids.end(), 0)));
  }
};

class PrefixSteppers : public testing::Test {
 protected:
  SequenceId begin() { return stepper_.begin(std::vector<Ids>(1)).front(); }
  // Reads a prompt in a new sequence, whose number it returns; checks the row after it.
  SequenceId read(const Ids& prompt) {
    const SequenceId sequence = begin();
    expect_sum(stepper_.next({{{sequence, prompt}}}), prompt);
    EXPECT_EQ(stepper_.length(sequence), std::ssize(prompt));
    return sequence;
  }
  static void expect_sum(const NextTokens& found, const Ids& of) {
    ASSERT_EQ(found.logits.rows, 1);
    EXPECT_EQ(found.logits(0, 0), static_cast<float>(std::accumulate(of.begin(), of.end(), 0)));
  }

  SummingStepper* model_ = new SummingStepper;
  PrefixLog log_;
  PrefixStepper stepper_{std::unique_ptr<Stepper>(model_), 1000, &log_};
};

TEST_F(PrefixSteppers, APromptReadsOnlyWhatNoOtherHasRead) {
  const Ids first = numbers(0, 100);
  Ids second = first;
  second.resize(80);
  second.push_back(7);
  read(first);
  read(second);
  read(first);
  EXPECT_THAT(model_->read, ElementsAre(100, 1, 1)) << "the last token is read for its row";
  const PrefixReport report = log_.report();
  EXPECT_EQ(report.prompts, 3);
  EXPECT_EQ(report.hits, 2);
  EXPECT_EQ(report.tokens, 281);
  EXPECT_EQ(report.saved, 80 + 99);
}

TEST_F(PrefixSteppers, WhatEndedServesUntilItIsForgotten) {
  const Ids prompt = numbers(0, 100);
  stepper_.remove(read(prompt));
  EXPECT_TRUE(stepper_.keeps());
  stepper_.remove(read(prompt));
  stepper_.forget();
  EXPECT_EQ(model_->sequences(), 0U);
  stepper_.remove(read(prompt));
  EXPECT_THAT(model_->read, ElementsAre(100, 1, 100));
}

// What was written counts, and not only what was read as a prompt.
TEST_F(PrefixSteppers, AConversationGoesOnFromItsAnswer) {
  Ids text = numbers(0, 60);
  const SequenceId sequence = read(text);
  for (int32_t token = 500; token < 550; ++token) {
    text.push_back(token);
    stepper_.next({{{sequence, std::span(text).last(1)}}});
  }
  stepper_.remove(sequence);
  text.push_back(9);
  model_->read.clear();
  read(text);
  EXPECT_THAT(model_->read, ElementsAre(1));
}

TEST_F(PrefixSteppers, PartsOfAPromptCostNothingWhereTheyAreKnown) {
  const Ids prompt = numbers(0, 300);
  stepper_.remove(read(prompt));
  model_->read.clear();
  const SequenceId sequence = begin();
  EXPECT_EQ(stepper_.known_tokens(sequence, prompt), 299);
  const auto all = std::span<const int32_t>(prompt);
  EXPECT_EQ(stepper_.next({{{sequence, all.first(200), RowsWanted::none}}}).logits.rows, 0);
  expect_sum(stepper_.next({{{sequence, all.subspan(200)}}}), prompt);
  EXPECT_THAT(model_->read, ElementsAre(1));
}

TEST_F(PrefixSteppers, SequencesInOneStepKeepTheirRows) {
  const Ids known = numbers(0, 100), other = numbers(700, 3);
  stepper_.remove(read(known));
  const SequenceId a = begin(), b = begin(), c = begin();
  const std::vector<NewTokens> asked{{a, known, RowsWanted::none}, {b, other}, {c, known}};
  const NextTokens found = stepper_.next(asked);
  ASSERT_EQ(found.logits.rows, 2);
  EXPECT_EQ(found.logits(0, 0), 700.0F + 701.0F + 702.0F);
  EXPECT_EQ(found.logits(1, 0), 4950.0F);
  EXPECT_EQ(stepper_.length(a), 100);
}

TEST_F(PrefixSteppers, AllRowsAreReadWhereTheyAreWanted) {
  const Ids prompt = numbers(0, 100);
  stepper_.remove(read(prompt));
  EXPECT_EQ(stepper_.next({{{begin(), prompt, RowsWanted::all}}}).logits.rows, 100);
}

TEST_F(PrefixSteppers, TheLeastRecentlyUsedGoFirst) {
  const Ids a = numbers(0, 400), b = numbers(1000, 400), c = numbers(2000, 400);
  stepper_.remove(read(a));
  stepper_.remove(read(b));
  stepper_.remove(read(a));  // used again
  stepper_.remove(read(c));  // 1,200 bytes, of which 1,000 may stay
  model_->read.clear();
  read(a);
  read(c);
  read(b);
  EXPECT_THAT(model_->read, ElementsAre(1, 1, 400));
}

// One of the hypotheses that differ in their latest tokens stays, and the longest state of a conversation.
TEST_F(PrefixSteppers, WhatAnotherCoversDoesNotStay) {
  const Ids prompt = numbers(0, 100);
  const SequenceId one = read(prompt), other = stepper_.fork(one);
  const Ids more = numbers(300, 5);
  stepper_.next({{{other, more}}});
  stepper_.remove(one);
  EXPECT_EQ(model_->sequences(), 1U) << "the other one has all of it";
  stepper_.remove(other);
  EXPECT_EQ(model_->sequences(), 1U);
}

TEST_F(PrefixSteppers, WhatStaysGivesWayToARequestThatNeedsTheRoom) {
  const Ids a = numbers(0, 100), b = numbers(1000, 100);
  stepper_.remove(read(a));
  stepper_.remove(read(b));
  model_->room = 250;
  const SequenceId large = read(numbers(5000, 150));
  EXPECT_EQ(model_->sequences(), 2U) << "one had to go";
  model_->room = 200;
  const Ids more = numbers(6000, 60);
  EXPECT_THROW(stepper_.next({{{large, more}}}), BudgetError);
  EXPECT_EQ(stepper_.length(large), 150);
  EXPECT_FALSE(stepper_.keeps());
}

// With room for the copy, but not for what follows it.
TEST_F(PrefixSteppers, AfterABudgetErrorSequencesAreAsBefore) {
  const Ids prompt = numbers(0, 100);
  const SequenceId first = read(prompt), second = begin();
  Ids longer = prompt;
  longer.insert(longer.end(), 100, 3);
  model_->room = 220;
  EXPECT_THROW(stepper_.next({{{second, longer}}}), BudgetError);
  EXPECT_EQ(stepper_.length(second), 0);
  EXPECT_EQ(stepper_.length(first), 100);
  model_->room = 1000;
  expect_sum(stepper_.next({{{second, longer}}}), longer);
}

TEST(PrefixStepperOfAModel, NeedsFullAttention) {
  const RandomLanguageModel full, local(2, DType::f32, 5, 8);
  EXPECT_TRUE(has_prefixes(full.scheduler->inference()));
  EXPECT_FALSE(has_prefixes(local.scheduler->inference()));
  EXPECT_FALSE(has_prefixes(RandomTranslator().scheduler->inference()));
}

}  // namespace
}  // namespace heed::test
