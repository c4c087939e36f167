// The steps of a search that a caller asks for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "decode/translator_testing.h"

namespace heed::test {
namespace {

using Lines = std::vector<std::vector<TranslatedLine>>;

Lines traced(const RandomTranslator& t, const std::vector<std::string>& lines, TranslationOptions options,
             TranslationListener* listener = nullptr) {
  options.steps = SearchSteps::listed;
  return translate_lines(*t.translator, lines, options, {}, TooLong::refuse, listener);
}

const BeamTrace& trace_of(const std::vector<TranslatedLine>& line) { return line.front().translation.trace; }

// The last tokens of a hypothesis and of those that it continues, and the sum of their log-probabilities.
struct Path {
  std::vector<int32_t> tokens;
  double log_probability = 0.0;
};
Path path_to(const BeamTrace& trace, const BeamPlace& end) {
  Path path;
  int64_t hypothesis = end.hypothesis;
  for (int64_t step = end.step; step >= 0; --step) {
    const BeamHypothesis& one = trace.steps[static_cast<size_t>(step)][static_cast<size_t>(hypothesis)];
    EXPECT_EQ(one.fate == BeamFate::went_on, step != end.step);
    path.tokens.insert(path.tokens.begin(), one.id);
    path.log_probability += one.token_log_probability;
    EXPECT_EQ(one.parent == -1, step == 0);
    hypothesis = one.parent;
  }
  return path;
}

// Each translation is the path to its place, and each step consists of what its parents were continued by.
void expect_trace(const RandomTranslator& t, const TranslationOptions& options) {
  const std::vector<std::string> lines{"two dogs", "", "a man is w"};
  const auto plain = t.translate(lines, options);
  const Lines found = traced(t, lines, options);
  EXPECT_TRUE(trace_of(found[1]).steps.empty());
  for (const size_t i : {0U, 2U}) {
    const BeamTrace& trace = trace_of(found[i]);
    EXPECT_TRUE(trace.is_complete);
    ASSERT_EQ(found[i].size(), plain[i].size());
    for (size_t k = 0; k < plain[i].size(); ++k) {
      EXPECT_EQ(found[i][k].translation.text, plain[i][k].translation.text);
      EXPECT_EQ(found[i][k].translation.score, plain[i][k].translation.score);
      EXPECT_FALSE(plain[i][k].translation.place.has_value());
      ASSERT_TRUE(found[i][k].translation.place.has_value());
      const BeamPlace place = *found[i][k].translation.place;
      const BeamHypothesis& last = trace.steps[static_cast<size_t>(place.step)][static_cast<size_t>(place.hypothesis)];
      EXPECT_EQ(last.fate, BeamFate::ended);
      std::vector<int32_t> tokens = plain[i][k].ids;
      if (static_cast<int64_t>(tokens.size()) < plain[i][k].translation.tokens) {
        tokens.push_back(t.tokenizer->special().eos.value);
      }
      const Path path = path_to(trace, place);
      EXPECT_EQ(path.tokens, tokens);
      EXPECT_EQ(path.log_probability, plain[i][k].translation.log_probability);
      EXPECT_EQ(last.log_probability, plain[i][k].translation.log_probability);
      if (options.coverage_penalty == 0.0) {
        EXPECT_EQ(last.score, plain[i][k].translation.score);
      }
    }
    for (size_t step = 1; step < trace.steps.size(); ++step) {
      for (const BeamHypothesis& one : trace.steps[step]) {
        const BeamHypothesis& parent = trace.steps[step - 1][static_cast<size_t>(one.parent)];
        EXPECT_EQ(parent.fate, BeamFate::went_on);
        EXPECT_EQ(one.log_probability, parent.log_probability + one.token_log_probability);
        EXPECT_EQ(one.piece, t.tokenizer->piece(TokenId(one.id)));
      }
    }
  }
}

TEST(BeamTrace, TranslationsArePathsThroughIt) {
  const RandomTranslator t;
  expect_trace(t, {.max_length = 9});
  expect_trace(t, {.beam = 4, .n_best = 4, .max_length = 9});
  expect_trace(t, {.beam = 4, .length_penalty = 0.3, .n_best = 2, .max_length = 9});
  expect_trace(t, {.beam = 4, .n_best = 3, .max_length = 9, .coverage_penalty = 1.0});
  expect_trace(t, {.beam = 6, .n_best = 6, .max_length = 9, .groups = 3});
  expect_trace(t, {.beam = 2, .max_length = 9, .alternatives = 3});
  expect_trace(t, {.max_length = 9, .alternatives = 3});
  expect_trace(t, {.beam = 3, .n_best = 3, .max_length = 12, .prefixes = {"ein", "", "die"}});
  expect_trace(t, {.beam = 4, .n_best = 4, .max_length = 12, .prefixes = {"ein", "", "die"}, .groups = 2});
  expect_trace(t, {.beam = 6, .n_best = 2, .max_length = 12, .force = {"Hund"}});
  expect_trace(t, {.beam = 3, .n_best = 3, .max_length = 9, .early_stopping = EarlyStopping::never});
}

TEST(BeamTrace, TranslationsThatAreCutOffEndInIt) {
  RandomTranslator t;
  t.translator->marks.at_limit = AtLimit::cut;
  t.bias(t.tokenizer->special().eos, -1e4F);
  expect_trace(t, {.beam = 3, .n_best = 3, .max_length = 7});
}

TEST(BeamTrace, AStepHasWhatTheSearchConsidered) {
  const RandomTranslator t;
  const BeamTrace trace = trace_of(traced(t, {"two dogs"}, {.beam = 3, .max_length = 9}).front());
  ASSERT_GT(trace.steps.size(), 3U);
  for (size_t step = 0; step < 4; ++step) {
    const std::vector<BeamHypothesis>& all = trace.steps[step];
    EXPECT_EQ(all.size(), 6U);
    EXPECT_TRUE(std::ranges::is_sorted(all, std::greater(), &BeamHypothesis::log_probability));
    EXPECT_EQ(std::ranges::count(all, BeamFate::went_on, &BeamHypothesis::fate), 3);
  }
}

// In the order of their groups, or of their alternatives.
TEST(BeamTrace, HypothesesHaveTheirGroups) {
  const RandomTranslator t;
  for (const TranslationOptions& options :
       {TranslationOptions{.beam = 6, .max_length = 9, .groups = 3}, {.beam = 2, .max_length = 9, .alternatives = 3}}) {
    const BeamTrace trace = trace_of(traced(t, {"two dogs"}, options).front());
    ASSERT_GT(trace.steps.size(), 2U);
    EXPECT_TRUE(std::ranges::is_sorted(trace.steps[1], {}, &BeamHypothesis::group));
    EXPECT_EQ(trace.steps[1].front().group, 0);
    EXPECT_EQ(trace.steps[1].back().group, 2);
    for (const BeamHypothesis& one : trace.steps[1]) {
      EXPECT_EQ(one.group, trace.steps[0][static_cast<size_t>(one.parent)].group);
    }
  }
}

TEST(BeamTrace, ItsSizeIsBounded) {
  BeamRecorder recorder(3);
  for (int step = 0; step < 4; ++step) {
    recorder.begin_step();
    EXPECT_EQ(recorder.add({}).has_value(), step < 2);
    EXPECT_EQ(recorder.add({}).has_value(), step < 2) << "the step that reaches the limit is listed whole";
  }
  const BeamTrace trace = recorder.take();
  EXPECT_FALSE(trace.is_complete);
  EXPECT_EQ(trace.steps.size(), 2U);
  EXPECT_EQ(trace.steps.back().size(), 2U);
}

// A listener is told of each step as the search takes it, and before the translations.
TEST(BeamTrace, StepsAreToldAsTheyAreTaken) {
  struct Heard : TranslationListener {
    void on_step(size_t line, std::span<const BeamHypothesis> hypotheses) override {
      EXPECT_FALSE(ended.at(line));
      steps.at(line).emplace_back(hypotheses.begin(), hypotheses.end());
    }
    void on_translations(size_t line, std::span<const Translation>) override { ended.at(line) = true; }

    std::vector<BeamSteps> steps = std::vector<BeamSteps>(3);
    std::vector<bool> ended = std::vector<bool>(3);
  };
  const RandomTranslator t;
  const std::vector<std::string> lines{"two dogs", "", "a man is w"};
  for (const TranslationOptions& options :
       {TranslationOptions{.max_length = 9}, TranslationOptions{.beam = 3, .n_best = 2, .max_length = 9},
        TranslationOptions{.beam = 4, .max_length = 9, .groups = 2}}) {
    Heard heard;
    const Lines found = traced(t, lines, options, &heard);
    for (size_t i = 0; i < lines.size(); ++i) {
      const BeamSteps& whole = trace_of(found[i]).steps;
      ASSERT_EQ(heard.steps[i].size(), whole.size());
      for (size_t k = 0; k < whole.size(); ++k) {
        ASSERT_EQ(heard.steps[i][k].size(), whole[k].size());
        for (size_t h = 0; h < whole[k].size(); ++h) {
          EXPECT_EQ(heard.steps[i][k][h].piece, whole[k][h].piece);
          EXPECT_EQ(heard.steps[i][k][h].log_probability, whole[k][h].log_probability);
          EXPECT_EQ(heard.steps[i][k][h].fate, whole[k][h].fate);
        }
      }
    }
  }
}

TEST(BeamTrace, AListenerChangesNothing) {
  const RandomTranslator t;
  TranslationListener silent;
  const TranslationOptions options{.beam = 3, .n_best = 2, .max_length = 9, .coverage_penalty = 0.5};
  const Lines plain = traced(t, {"two dogs", "a man"}, options);
  const Lines told = traced(t, {"two dogs", "a man"}, options, &silent);
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(trace_of(told[i]).steps.size(), trace_of(plain[i]).steps.size());
    for (size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(told[i][k].translation.place->step, plain[i][k].translation.place->step);
      EXPECT_EQ(told[i][k].translation.place->hypothesis, plain[i][k].translation.place->hypothesis);
    }
  }
}

}  // namespace
}  // namespace heed::test
