// What may be written, whatever the model finds likely: the rules by themselves, in search, and in sampling.
#include "decode/rules/token_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/errors.h"
#include "decode/drafts/speculation.h"
#include "decode/language_model_testing.h"
#include "text/token_ids.h"
#include "text/unicode/unicode.h"

namespace heed::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;
using Ids = std::vector<int32_t>;

Ids forbidden(const TokenRules& rules, const Ids& text, int64_t written) {
  ForbiddenTokens found;
  AutomatonWalk walk;
  rules.forbid({text, written}, walk, found);
  return found.tokens();
}

TEST(TokenRules, NoEndComesBeforeTheMinimumLength) {
  const TokenRules rules{.suppressed = {0}, .eos = 3, .writing = {.min_length = 3}};
  EXPECT_THAT(forbidden(rules, {9, 5}, 1), UnorderedElementsAre(0, 3));
  EXPECT_THAT(forbidden(rules, {9, 5, 6}, 2), UnorderedElementsAre(0)) << "the end is the third token";
}

TEST(TokenRules, ForbidsTokensThatRepeatAnNgram) {
  TokenRules rules{.writing = {.no_repeat_ngram = 3}};
  EXPECT_THAT(forbidden(rules, {5, 6, 7, 5, 6, 8, 5, 6}, 1), UnorderedElementsAre(7, 8)) << "prompt included";
  EXPECT_THAT(forbidden(rules, {5, 6}, 0), IsEmpty());
  rules.writing.no_repeat_ngram = 1;
  EXPECT_THAT(forbidden(rules, {5, 6}, 0), UnorderedElementsAre(5, 6));
}

TEST(TokenRules, ABadWordsLastTokenIsForbiddenAfterTheOthers) {
  const TokenRules rules{.bad_words = {{5, 6, 7}, {6, 8}, {9, 9}}};
  EXPECT_TRUE(rules.look_at_text());
  EXPECT_THAT(forbidden(rules, {5, 6}, 1), UnorderedElementsAre(7, 8)) << "prompt included";
  EXPECT_THAT(forbidden(rules, {4, 6}, 2), UnorderedElementsAre(8));
  EXPECT_THAT(forbidden(rules, {6, 5}, 2), IsEmpty());
  EXPECT_THAT(forbidden(rules, {9}, 1), UnorderedElementsAre(9));
  EXPECT_THAT(forbidden(rules, {}, 0), IsEmpty());
}

TEST(TokenRules, OnlyWhatRulesAboutTheTextForbidGivesWay) {
  const TokenRules rules{.suppressed = {1}, .writing = {.no_repeat_ngram = 1}};
  ForbiddenTokens found;
  AutomatonWalk walk;
  const Ids text{0, 2};
  rules.forbid({text, 2}, walk, found);
  EXPECT_TRUE(found.contains(0) && found.contains(1) && found.contains(2));
  EXPECT_TRUE(found.give_way());
  EXPECT_THAT(found.tokens(), ElementsAre(1));
  EXPECT_FALSE(found.give_way());
}

TEST(TokenRules, WhereNoTokenIsLeftTheyGiveWay) {
  const Sampler sampler({.temperature = 0.0}, {.suppressed = {2}, .writing = {.no_repeat_ngram = 1}});
  SamplingMemory memory;
  EXPECT_EQ(sampler.sample(std::vector<float>{1, 2, 3}, {}, {.key = {}, .position = 1}, memory, {Ids{1}}), 0);
  EXPECT_EQ(sampler.sample(std::vector<float>{1, 2, 3}, {}, {.key = {}, .position = 2}, memory, {Ids{1, 0}}), 1);
}

TEST(TokenRules, OptionsThatMakeNoSenseAreNamed) {
  RandomLanguageModel model(1);
  const RandomTranslator translator;
  const auto message_of = [](const auto& body) -> std::string {
    try {
      body();
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "nothing is refused";
  };
  const auto generating = [&](const WritingRules& rules) {
    return message_of([&] { model.generate({}, {.max_tokens = 5, .rules = rules}); });
  };
  EXPECT_THAT(generating({.min_length = 6}), HasSubstr("min tokens is 6, expected at most the max tokens of 5"));
  EXPECT_THAT(generating({.min_length = -1}), HasSubstr("min tokens is -1"));
  EXPECT_THAT(generating({.no_repeat_ngram = -1}), HasSubstr("no-repeat-ngram is -1"));
  TranslationOptions options;
  options.max_length = 4;
  options.rules.min_length = 5;
  EXPECT_THAT(message_of([&] { validate(options); }), HasSubstr("min tokens is 5"));
  options = {};
  options.prefixes = {"a", "b"};
  EXPECT_THAT(message_of([&] { translator.translate({"a man"}, options); }), HasSubstr("2 prefixes for 1 lines"));
}

// Texts ---------------------------------------------------------------------------------------------------------------

std::set<std::u32string> rows_of(const std::string& of_text, size_t n) {
  const std::u32string text = to_code_points(of_text);
  std::set<std::u32string> rows;
  for (size_t i = 0; i + n <= text.size(); ++i) {
    EXPECT_TRUE(rows.insert(text.substr(i, n)).second) << "twice in " << of_text;
  }
  return rows;
}

TEST(TokenRules, TextsKeepToThem) {
  RandomLanguageModel model(1);
  const SpecialTokens& special = model.tokenizer->special();
  model.bias(special.eos, 3.0F);
  for (const int64_t beam : {1, 3}) {
    const auto found = model.generate(
        {"a man", "two"},
        {.beam = beam, .max_tokens = 30, .rules = {.min_length = 20, .no_repeat_ngram = 2}, .each = EachToken::listed});
    for (const std::vector<Completion>& texts : found) {
      const Completion& text = texts.front();
      EXPECT_GE(text.tokens, 20);
      EXPECT_GE(rows_of(text.text, 2).size(), 15U);
      ASSERT_THAT(text.each, SizeIs(static_cast<size_t>(text.tokens)));
      double sum = 0.0;
      for (const ScoredToken& token : text.each) {
        sum += token.log_probability;
      }
      EXPECT_NEAR(sum, text.log_probability, 1e-9);
    }
  }
}

TEST(TokenRules, DraftsChangeNothing) {
  RandomLanguageModel model(1);
  const RandomLanguageModel same(1);
  model.bias(model.tokenizer->special().eos, 2.0F);
  const std::vector<std::string> prompts{"a man", "two dogs play", "die"};
  for (const double temperature : {0.0, 0.8}) {
    const GenerationOptions options{.sampling = {.temperature = temperature},
                                    .samples = 2,
                                    .max_tokens = 25,
                                    .rules = {.min_length = 8, .no_repeat_ngram = 2}};
    model.draft_with(nullptr);
    const auto expected = model.generate(prompts, options);
    for (const Drafts by : {Drafts::model, Drafts::prompt, Drafts::layers}) {
      DraftLog log;
      const Drafting drafting{{.by = by, .layers = 1, .tokens = 4}, &*same.model, log};
      model.draft_with(&drafting);
      const auto found = model.generate(prompts, options);
      for (size_t i = 0; i < prompts.size(); ++i) {
        for (size_t sample = 0; sample < 2; ++sample) {
          EXPECT_EQ(found[i][sample].text, expected[i][sample].text);
          EXPECT_EQ(found[i][sample].log_probability, expected[i][sample].log_probability);
        }
      }
    }
  }
}

// Translations --------------------------------------------------------------------------------------------------------

const std::vector<std::string> kLines{"a man", "", "two dogs play", "ein Hund läuft über", "zur", "a man is walking"};

TEST(TokenRules, ATranslationIsTheSameAloneAndWithDrafts) {
  RandomTranslator model;
  const RandomTranslator same;
  for (const int64_t beam : {1, 3}) {
    const TranslationOptions options{.beam = beam, .rules = {.min_length = 6, .no_repeat_ngram = 2}};
    const auto together = model.translate(kLines, options);
    for (size_t i = 0; i < kLines.size(); ++i) {
      EXPECT_EQ(model.translate({kLines[i]}, options)[0][0].ids, together[i][0].ids);
      EXPECT_TRUE(kLines[i].empty() || together[i][0].translation.tokens >= 6);
    }
    if (beam > 1) {
      continue;
    }
    DraftLog log;
    const Drafting drafting{{.by = Drafts::model, .tokens = 4}, &*same.model, log};
    model.draft_with(&drafting);
    const auto drafted = model.translate(kLines, options);
    EXPECT_GT(log.report().accepted, 0);
    model.draft_with(nullptr);
    for (size_t i = 0; i < kLines.size(); ++i) {
      EXPECT_EQ(drafted[i][0].ids, together[i][0].ids);
      EXPECT_EQ(drafted[i][0].translation.score, together[i][0].translation.score);
    }
  }
}

// Forced tokens have the rows before them, so that the whole has the score of the pair.
TEST(Prefixes, ATranslationBeginsWithItsOwn) {
  RandomTranslator model;
  const std::vector<std::string> prefixes{"two", "x", "", "ein", "a man is ", "die"};
  DraftLog log;
  const Drafting drafting{{.by = Drafts::layers, .layers = 1, .tokens = 3}, nullptr, log};
  for (const int64_t beam : {1, 3}) {
    TranslationOptions options;
    options.beam = beam;
    options.each = EachToken::listed;
    options.prefixes = prefixes;
    const auto found = model.translate(kLines, options);
    for (size_t i = 0; i < kLines.size(); ++i) {
      const TranslatedLine& line = found[i][0];
      if (kLines[i].empty()) {
        EXPECT_TRUE(line.ids.empty()) << "whatever the prefix";
        continue;
      }
      EXPECT_THAT(line.translation.text, StartsWith(prefixes[i]));
      ASSERT_THAT(line.translation.each, SizeIs(static_cast<size_t>(line.translation.tokens)));
      double sum = 0.0;
      for (const ScoredToken& token : line.translation.each) {
        sum += token.log_probability;
      }
      EXPECT_NEAR(sum, line.translation.log_probability, 1e-6);
      const Ids source = source_tokens(*model.translator, kLines[i]);
      const double of_pair =
          score_pairs(Inference{*model.model, *model.backend, DType::f32}, {.sources = {source}, .targets = {line.ids}})
              .front();
      EXPECT_NEAR(of_pair, line.translation.log_probability, 1e-3);
      TranslationOptions alone = options;
      alone.prefixes = {prefixes[i]};
      EXPECT_EQ(model.translate({kLines[i]}, alone)[0][0].translation.score, line.translation.score);
    }
    if (beam == 1) {
      model.draft_with(&drafting);
      const auto drafted = model.translate(kLines, options);
      model.draft_with(nullptr);
      for (size_t i = 0; i < kLines.size(); ++i) {
        EXPECT_EQ(drafted[i][0].ids, found[i][0].ids);
        EXPECT_EQ(drafted[i][0].translation.score, found[i][0].translation.score);
      }
    }
  }
}

TEST(Prefixes, WhatTheModelWouldWriteAnywayChangesNothing) {
  const RandomTranslator model;
  const auto plain = model.translate(kLines, {.beam = 1, .max_length = 30});
  std::vector<std::string> prefixes;
  for (const auto& line : plain) {
    const std::u32string text = to_code_points(line[0].translation.text);
    prefixes.push_back(to_utf8(std::u32string_view(text).substr(0, text.size() / 2)));
  }
  prefixes[3].clear();
  const auto found = model.translate(kLines, {.beam = 1, .max_length = 30, .prefixes = prefixes});
  int checked = 0;
  for (size_t i = 0; i < kLines.size(); ++i) {
    // Some random models write tokens that no text shows.
    if (ids_of(model.tokenizer->encode(plain[i][0].translation.text)) == plain[i][0].ids) {
      ++checked;
      EXPECT_EQ(found[i][0].translation.text, plain[i][0].translation.text);
      EXPECT_EQ(found[i][0].translation.score, plain[i][0].translation.score);
    }
  }
  EXPECT_GE(checked, 2);
}

TEST(Prefixes, ThatLeaveNoRoomAreRefused) {
  const RandomTranslator model;
  for (const int64_t max_length : {0, 3}) {
    TranslationOptions options;
    options.max_length = max_length;
    options.prefixes = {max_length == 0 ? std::string(40, 'a') : "two"};
    try {
      model.translate({"a man"}, options);
      ADD_FAILURE() << "expected a refusal";
    } catch (const FormatError& error) {
      EXPECT_THAT(error.what(), HasSubstr("the prefix of text:1"));
    }
  }
  EXPECT_NO_THROW(model.translate({"a man"}, {.max_length = 4, .prefixes = {"two"}}));
}

}  // namespace
}  // namespace heed::test
