#include "decode/texts/continuation_scores.h"

#include <gtest/gtest.h>

#include <numeric>

#include "decode/language_model_testing.h"
#include "decode/texts/prompt_scores.h"

namespace heed::test {
namespace {

using Scores = std::vector<std::vector<TextScore>>;

std::string where_of_item(size_t i) { return fmt::format("prompt:{}", i + 1); }

Scores scores_of(RandomLanguageModel& model, const std::vector<Continuations>& items,
                 const GenerationOptions& options = {}) {
  return score_continuations({*model.scheduler, *model.tokenizer, model.documents}, items, options, where_of_item);
}

// The sum over the last `tokens` of the whole text, as it is scored as a prompt.
double sum_of_last(RandomLanguageModel& model, const std::string& text, int64_t tokens) {
  const auto scored =
      score_prompts({*model.scheduler, *model.tokenizer, model.documents}, std::vector{text}, {}, where_of_item)
          .front();
  double sum = 0.0;
  for (auto i = scored.size() - static_cast<size_t>(tokens); i < scored.size(); ++i) {
    sum += scored[i].log_probability;
  }
  return sum;
}

std::vector<Continuations> several() {
  return {{"a man is", {" here", " a dog", "", "s"}},
          {"two dogs ", {"play in front of a man", "x"}},
          {"a man is", {" here"}},
          {"t", {"h", "hh", "hhh"}}};
}

void expect_same_bits(const std::vector<TextScore>& one, const std::vector<TextScore>& other) {
  ASSERT_EQ(one.size(), other.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].log_probability, other[i].log_probability);
    EXPECT_EQ(one[i].tokens, other[i].tokens);
  }
}

TEST(ContinuationScores, AreTheSumsOfTheTokensOfTheWholeText) {
  for (const std::optional<Documents> documents : {std::optional<Documents>(), std::optional(Documents::lines)}) {
    RandomLanguageModel model;
    model.documents = documents;
    const std::vector<Continuations> items = several();
    const Scores scores = scores_of(model, items);
    for (size_t i = 0; i < items.size(); ++i) {
      for (size_t c = 0; c < items[i].texts.size(); ++c) {
        const TextScore& score = scores[i][c];
        EXPECT_EQ(score.tokens, std::ssize(items[i].texts[c]));
        EXPECT_NEAR(score.log_probability, sum_of_last(model, items[i].prompt + items[i].texts[c], score.tokens), 1e-9);
      }
    }
  }
}

TEST(ContinuationScores, DoNotDependOnWhatIsBesideThem) {
  RandomLanguageModel model;
  const std::vector<Continuations> items = several();
  const Scores together = scores_of(model, items);
  for (size_t i = 0; i < items.size(); ++i) {
    expect_same_bits(scores_of(model, {items[i]}).front(), together[i]);
    for (size_t c = 0; c < items[i].texts.size(); ++c) {
      expect_same_bits(scores_of(model, {{items[i].prompt, {items[i].texts[c]}}}).front(), {together[i][c]});
    }
  }
}

TEST(ContinuationScores, DoNotDependOnWhetherPromptsAreKept) {
  RandomLanguageModel model, keeping;
  keeping.scheduler.emplace(Inference{*keeping.model, *keeping.backend, keeping.storage, keeping.cached}, nullptr,
                            SourceVocabulary::other, Scheduler::Memory{.step_bytes = 0, .prefix_bytes = 1 << 20});
  const std::vector<Continuations> items = several();
  const Scores once = scores_of(model, items);
  for (int repeat = 0; repeat < 2; ++repeat) {
    const Scores kept = scores_of(keeping, items);
    for (size_t i = 0; i < items.size(); ++i) {
      expect_same_bits(once[i], kept[i]);
    }
  }
}

TEST(ContinuationScores, SuitModelsThatCannotBeRolledBack) {
  RandomLanguageModel model(2, DType::f32, 5, 8);
  const std::vector<Continuations> items = several();
  const Scores scores = scores_of(model, items);
  EXPECT_NEAR(scores[1][0].log_probability, sum_of_last(model, items[1].prompt + items[1].texts[0], 22), 1e-9);
}

TEST(ContinuationScores, AfterAnEmptyPromptBeginAsTextsDo) {
  RandomLanguageModel model;
  model.documents = Documents::none;
  const TextScore score = scores_of(model, {{"", {"a man"}}}).front().front();
  EXPECT_EQ(score.tokens, 5);
  model.documents = Documents::lines;
  EXPECT_NEAR(scores_of(model, {{"", {"a man"}}}).front().front().log_probability, sum_of_last(model, "a man", 5),
              1e-9);
}

TEST(ContinuationScores, RefusesWhatIsTooLongOrCutsItFromTheLeft) {
  RandomLanguageModel model;  // takes 40 tokens
  const std::string prompt(38, 'a');
  EXPECT_THROW(scores_of(model, {{prompt, {"abc"}}}), TooLongError);
  const GenerationOptions cut{.too_long = TooLong::truncate};
  const Scores scores = scores_of(model, {{prompt, {"abc", "d"}}}, cut);
  expect_same_bits(scores.front(), scores_of(model, {{std::string(37, 'a'), {"abc", "d"}}}).front());
  EXPECT_THROW(scores_of(model, {{prompt, {std::string(41, 'b')}}}, cut), TooLongError);
  EXPECT_THROW(scores_of(model, {{"a", {"\xff"}}}), FormatError);
}

}  // namespace
}  // namespace heed::test
