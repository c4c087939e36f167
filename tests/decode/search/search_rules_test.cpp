// Which continuations a search goes on with, by a model whose every answer is written down.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "decode/scheduling/request_batch.h"
#include "decode/search/search.h"
#include "decode/steppers/fake_stepper.h"

namespace heed::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Ids = std::vector<int32_t>;

constexpr int32_t kBos = 2, kEos = 3, kA = 4, kB = 5, kFar = 130;
constexpr int64_t kManyTokens = 192;
constexpr float kHardly = -20.0F;

// Log-probabilities of the end and some tokens after what was written; all others are very unlikely.
struct Answer {
  float end = kHardly, a = kHardly, b = kHardly, far = kHardly;
};

class WrittenDown final : public FakeStepper {
 public:
  explicit WrittenDown(std::map<Ids, Answer> answers) : FakeStepper(kManyTokens, 100), answers_(std::move(answers)) {}

 private:
  void answer(const Ids& read, std::span<float> row) override {
    const Answer answer = answers_[{read.begin() + 1, read.end()}];  // without bos
    std::ranges::fill(row, kHardly);
    row[kEos] = answer.end;
    row[kA] = answer.a;
    row[kB] = answer.b;
    row[kFar] = answer.far;
  }

  std::map<Ids, Answer> answers_;
};

// By this score alone, without a penalty unless one is given.
std::vector<Hypothesis> found(WrittenDown& stepper, const TranslationOptions& options, int64_t max_length,
                              AtLimit at_limit = AtLimit::end) {
  const SearchRules rules{.at_limit = at_limit};
  const Sampler greedy({.temperature = 0.0}, {});
  SearchRequest search({{}, {&kBos, 1}, max_length}, options, rules, greedy);
  std::vector<Request*> requests{&search};
  run_together(stepper, requests);
  return search.results();
}

TEST(SearchRules, AnEndThatIsNotAmongTheFirstOfTheBeamIsPassedOver) {
  WrittenDown stepper({{{}, {.a = -1.0F, .b = -1.125F}},
                       {{kA}, {.end = -0.125F, .a = -0.25F, .b = -0.5F}},
                       {{kB}, {.end = -0.25F}},
                       {{kA, kA}, {.end = -1.0F}},
                       {{kA, kB}, {.end = -9.0F}}});
  // After two steps: a and its end, a a, b and its end (the third of a beam of two), a b.
  const std::vector<Hypothesis> best = found(stepper, {.beam = 2, .length_penalty = 0.0, .n_best = 2}, 10);
  ASSERT_THAT(best, SizeIs(2));
  EXPECT_THAT(best[0].tokens, ElementsAre(kA));
  EXPECT_THAT(best[1].tokens, ElementsAre(kA, kA));
}

TEST(SearchRules, ARepetitionPenaltyAppliesToTokensThatAreThereAlready) {
  for (const int64_t beam : {1, 2}) {
    WrittenDown stepper({{{}, {.a = -1.0F, .b = -8.0F}},
                         {{kA}, {.end = -6.0F, .a = -0.25F, .b = -0.375F}},
                         {{kA, kB}, {.end = -0.25F, .a = -0.1875F}},
                         {{kA, kA}, {.end = -0.25F, .b = -9.0F}}});
    // Twice -0.25 is less than -0.375, twice -0.1875 less than -0.25.
    const std::vector<Hypothesis> best =
        found(stepper, {.beam = beam, .length_penalty = 0.0, .repetition_penalty = 2.0}, 4);
    ASSERT_THAT(best, SizeIs(1));
    EXPECT_THAT(best[0].tokens, ElementsAre(kA, kB));
    EXPECT_EQ(best[0].log_probability, -1.625);
  }
  // What is written all the same counts with the penalty.
  WrittenDown stepper({{{}, {.a = -1.0F}}, {{kA}, {.a = -0.125F, .b = -0.5F}}, {{kA, kA}, {.end = -0.25F}}});
  const std::vector<Hypothesis> best = found(stepper, {.length_penalty = 0.0, .repetition_penalty = 2.0}, 4);
  EXPECT_THAT(best[0].tokens, ElementsAre(kA, kA));
  EXPECT_EQ(best[0].log_probability, -1.5);
}

TEST(SearchRules, TwiceTheBeamIsLookedAtSoThatAnEndTakesNoPlace) {
  WrittenDown stepper({{{}, {.end = -1.0F, .a = -1.25F, .b = -1.5F}}, {{kA}, {.end = -9.0F}}, {{kB}, {.end = -0.25F}}});
  const std::vector<Hypothesis> best = found(stepper, {.beam = 2, .length_penalty = 0.0, .n_best = 2}, 10);
  ASSERT_THAT(best, SizeIs(2));
  EXPECT_THAT(best[0].tokens, IsEmpty());
  EXPECT_THAT(best[1].tokens, ElementsAre(kB));
}

TEST(SearchRules, OfEqualsTheEarlierParentAndTheSmallerTokenComeFirst) {
  const Answer equal{.a = -1.0F, .b = -1.0F};
  WrittenDown stepper({{{}, equal}, {{kA}, equal}, {{kB}, equal}});
  const std::vector<Hypothesis> best = found(stepper, {.beam = 2, .length_penalty = 0.0, .n_best = 2}, 2, AtLimit::cut);
  ASSERT_THAT(best, SizeIs(2));
  EXPECT_THAT(best[0].tokens, ElementsAre(kA, kA));
  EXPECT_THAT(best[1].tokens, ElementsAre(kA, kB));
}

TEST(SearchRules, ABetterTokenIsFoundHoweverFarBehindTheOthersItStands) {
  WrittenDown stepper({{{}, {.a = -1.0F, .b = -1.0F, .far = std::nextafter(-1.0F, 0.0F)}}, {{kFar}, {.end = -1.0F}}});
  const std::vector<Hypothesis> best = found(stepper, {.beam = 1, .length_penalty = 0.0}, 3);
  EXPECT_THAT(best.at(0).tokens, ElementsAre(kFar));
}

TEST(SearchRules, TheBestByScoreComesFirstThoughItEndedLast) {
  WrittenDown stepper({{{}, {.end = -1.0F, .a = -1.25F}}, {{kA}, {.end = -0.25F}}});
  // -1 / 1, and (-1.25 - 0.25) / 2.
  const std::vector<Hypothesis> best = found(stepper, {.beam = 2, .length_penalty = 1.0, .n_best = 2}, 10);
  ASSERT_THAT(best, SizeIs(2));
  EXPECT_THAT(best[0].tokens, ElementsAre(kA));
  EXPECT_EQ(best[0].score, -0.75);
  EXPECT_EQ(best[1].score, -1.0);
}

TEST(SearchRules, WhatReachesTheMaximumLengthEndsThereOrIsCutOff) {
  const std::map<Ids, Answer> answers{{{}, {.a = -1.0F}}, {{kA}, {.end = -8.0F, .a = -1.0F}}};
  WrittenDown ending(answers), free_ending(answers), cutting(answers);
  const TranslationOptions greedy{.beam = 1, .length_penalty = 1.0};
  const Hypothesis ended = found(ending, greedy, 2, AtLimit::end).at(0);
  EXPECT_THAT(ended.tokens, ElementsAre(kA));
  EXPECT_EQ(ended.score, -9.0 / 2.0);
  EXPECT_FALSE(ended.cut_off);
  const Hypothesis free = found(free_ending, greedy, 2, AtLimit::free_end).at(0);
  EXPECT_THAT(free.tokens, ElementsAre(kA));
  EXPECT_EQ(free.score, -1.0 / 2.0);
  const Hypothesis cut = found(cutting, greedy, 2, AtLimit::cut).at(0);
  EXPECT_THAT(cut.tokens, ElementsAre(kA, kA));
  EXPECT_EQ(cut.score, -2.0 / 2.0);
  EXPECT_TRUE(cut.cut_off);
}

TEST(SearchRules, AtTheLimitOnlyTheFirstOfTheBeamAreKept) {
  WrittenDown stepper({{{}, {.a = -1.0F, .b = -1.5F}},
                       {{kA}, {.end = -0.25F, .a = -0.5F, .b = -8.0F}},
                       {{kB}, {.end = -8.0F, .a = -8.0F}}});
  const std::vector<Hypothesis> best = found(stepper, {.beam = 2, .length_penalty = 0.0, .n_best = 2}, 2, AtLimit::cut);
  ASSERT_THAT(best, SizeIs(2));
  EXPECT_THAT(best[0].tokens, ElementsAre(kA));
  EXPECT_THAT(best[1].tokens, ElementsAre(kA, kA));
}

TEST(SearchRules, ASearchStopsEarlyOrWhenTheOthersAreNoBetter) {
  const std::map<Ids, Answer> answers{
      {{}, {.end = -1.0F, .a = -1.25F}}, {{kA}, {.end = -2.0F, .a = -0.25F}}, {{kA, kA}, {.end = -0.25F}}};
  WrittenDown early(answers), late(answers);
  // Two have ended after two steps, with -1 / 1 and -3.25 / 2; "a a" has -1.5 / 2.
  TranslationOptions options{.beam = 2, .n_best = 2};
  EXPECT_THAT(found(early, options, 10).at(0).tokens, IsEmpty());
  options.early_stopping = EarlyStopping::off;
  const std::vector<Hypothesis> best = found(late, options, 10);
  EXPECT_THAT(best.at(0).tokens, ElementsAre(kA, kA));
  EXPECT_EQ(best.at(0).score, -1.75 / 3.0);
  EXPECT_THAT(best.at(1).tokens, IsEmpty());
}

TEST(SearchRules, ASearchThatNeverStopsEarlyLooksAtTheMaximumLength) {
  const std::map<Ids, Answer> answers{
      {{}, {.end = -1.0F, .a = -1.25F}}, {{kA}, {.end = -0.5F, .a = -3.0F}}, {{kA, kA}, {.end = -0.25F}}};
  WrittenDown at_present(answers), at_the_end(answers);
  // After two steps -1 / 1 and -1.75 / 4 have ended, and "a a" has -4.25: that is less over 4, but not over 100.
  TranslationOptions options{.beam = 2, .length_penalty = 2.0, .n_best = 2, .early_stopping = EarlyStopping::off};
  EXPECT_THAT(found(at_present, options, 10).at(1).tokens, IsEmpty());
  options.early_stopping = EarlyStopping::never;
  const std::vector<Hypothesis> best = found(at_the_end, options, 10);
  EXPECT_THAT(best.at(0).tokens, ElementsAre(kA));
  EXPECT_THAT(best.at(1).tokens, ElementsAre(kA, kA));
  EXPECT_EQ(best.at(1).score, -4.5 / 9.0);
}

TEST(SearchRules, ForcedFirstTokensCountAsCertainAndTowardsTheLength) {
  WrittenDown stepper({{{}, {.a = -5.0F}}, {{kA}, {.b = -1.0F}}, {{kA, kB}, {.end = -0.5F}}});
  const Ids given{kBos, kA, kB};
  const SearchRules rules{.certain = 1};
  const TranslationOptions options;
  const Sampler greedy({.temperature = 0.0}, {});
  SearchRequest search({{}, given, 10, 2}, options, rules, greedy);
  std::vector<Request*> requests{&search};
  run_together(stepper, requests);
  const Hypothesis best = search.results().at(0);
  EXPECT_THAT(best.tokens, ElementsAre(kA, kB));
  EXPECT_THAT(best.token_log_probabilities, ElementsAre(0.0F, -1.0F, -0.5F));
  EXPECT_EQ(best.score, -1.5 / 3.0);
}

TEST(SearchRules, PatienceWithoutEarlyStoppingIsRefused) {
  EXPECT_THROW(validate({.beam = 2, .patience = 2.0, .early_stopping = EarlyStopping::off}), ConfigError);
}

TEST(SearchRules, ItsSequencesLeaveTheStepper) {
  WrittenDown stepper({{{}, {.end = -2.0F, .a = -1.0F, .b = -1.5F}},
                       {{kA}, {.end = -0.5F, .a = -1.0F, .b = -1.0F}},
                       {{kB}, {.end = -0.5F}}});
  found(stepper, {.beam = 2, .n_best = 2}, 4);
  EXPECT_EQ(stepper.sequences(), 0U);
}

// A model of a stream may have no end, and no row has a value for it.
TEST(SearchRules, ForcedTextsThatOtherRulesForbidAreRefused) {
  const std::vector<std::vector<int32_t>> phrases{{1}};
  const SearchRules rules{.tokens = {.suppressed = {1}, .eos = -1}, .forced = ForcedPhrases(phrases)};
  const TranslationOptions options{.beam = 2};
  const std::vector<int32_t> prompt{0};
  SentenceSearch search(options, rules, {{}, prompt, 2}, {2});
  std::vector<float> values{std::nanf(""), -1.0F, -1.0F, -1.0F};
  EXPECT_THROW(search.advance({values.data() + 1, 1, 3, 3}, 0), ConfigError);
}

}  // namespace
}  // namespace heed::test
