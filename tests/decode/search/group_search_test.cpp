// Groups, alternatives, patience, coverage and unknown words.
#include "decode/search/group_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/errors.h"
#include "decode/search/search.h"
#include "decode/texts/translation/alignment.h"
#include "decode/texts/translation/unknown_words.h"
#include "decode/translator_testing.h"
#include "text/token_ids.h"

namespace heed::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::vector<std::string> kGroupLines{"a man", "", "two dogs play", "ein Hund läuft über", "a man is walking"};

TranslationOptions in_groups(int64_t beam, int64_t groups, double diversity, int64_t n_best) {
  TranslationOptions options;
  options.beam = beam;
  options.groups = groups;
  options.diversity = diversity;
  options.n_best = n_best;
  options.max_length = 20;
  return options;
}

void expect_same_lines(const std::vector<TranslatedLine>& found, const std::vector<TranslatedLine>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t k = 0; k < found.size(); ++k) {
    EXPECT_EQ(found[k].ids, expected[k].ids);
    EXPECT_EQ(found[k].translation.score, expected[k].translation.score);
  }
}

TEST(GroupSearch, GroupsWithoutDiversityFindTheSameTranslations) {
  const RandomTranslator model;
  const auto groups = model.translate(kGroupLines, in_groups(6, 3, 0.0, 2));
  const auto one = model.translate(kGroupLines, in_groups(2, 1, 0.0, 2));
  for (size_t i = 0; i < kGroupLines.size(); ++i) {
    expect_same_lines(groups[i], one[i]);
  }
}

TEST(GroupSearch, GroupsWithDiversityBeginDifferently) {
  const RandomTranslator model;
  const auto found = model.translate(kGroupLines, in_groups(4, 4, 1000.0, 4));
  for (size_t i = 0; i < kGroupLines.size(); ++i) {
    std::set<int32_t> firsts;
    for (const TranslatedLine& line : found[i]) {
      firsts.insert(line.ids.empty() ? -1 : line.ids.front());
    }
    EXPECT_EQ(firsts.size(), found[i].size());
    EXPECT_TRUE(kGroupLines[i].empty() || found[i].size() == 4U);
  }
}

TEST(GroupSearch, ALineIsTheSameAlone) {
  const RandomTranslator model;
  TranslationOptions alternatives;
  alternatives.alternatives = 3;
  alternatives.beam = 2;
  alternatives.max_length = 20;
  const auto check = [&](const TranslationOptions& options) {
    const auto together = model.translate(kGroupLines, options);
    for (size_t i = 0; i < kGroupLines.size(); ++i) {
      expect_same_lines(model.translate({kGroupLines[i]}, options)[0], together[i]);
    }
  };
  check(in_groups(4, 2, 0.7, 4));
  check(alternatives);
}

// The first token of each is forced in turn by a prefix that says the same.
TEST(GroupSearch, AlternativesAreTheBestTranslationsWithEachNextToken) {
  const RandomTranslator model;
  TranslationOptions options;
  options.alternatives = 5;
  options.beam = 2;
  options.max_length = 20;
  options.each = EachToken::listed;
  int checked = 0;
  for (const std::string line : {"a man", "two dogs play", "a man is walking"}) {
    const auto found = model.translate({line}, options)[0];
    ASSERT_EQ(found.size(), 5U);
    for (size_t k = 0; k < found.size(); ++k) {
      const double first = found[k].translation.each.front().log_probability;
      EXPECT_TRUE(k == 0 || first < found[k - 1].translation.each.front().log_probability);
      if (found[k].ids.empty()) {
        continue;
      }
      const std::string prefix = model.tokenizer->decode(tokens_of(std::vector<int32_t>{found[k].ids.front()}));
      if (ids_of(model.tokenizer->encode(prefix)) == std::vector<int32_t>{found[k].ids.front()}) {
        TranslationOptions forced;
        forced.beam = 2;
        forced.max_length = 20;
        forced.prefixes = {prefix};
        EXPECT_EQ(model.translate({line}, forced)[0][0].ids, found[k].ids);
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 5);
}

TEST(GroupSearch, PatienceFindsWhatIsAtLeastAsGood) {
  const RandomTranslator model;
  TranslationOptions options = in_groups(2, 1, 0.0, 1);
  const auto usual = model.translate(kGroupLines, options);
  options.patience = 3.0;
  const auto patient = model.translate(kGroupLines, options);
  for (size_t i = 0; i < kGroupLines.size(); ++i) {
    EXPECT_GE(patient[i][0].translation.score, usual[i][0].translation.score);
  }
}

TEST(GroupSearch, CoverageIsAddedToTheScoreAndOrdersTheList) {
  const RandomTranslator model;
  TranslationOptions options = in_groups(4, 1, 0.0, 3);
  options.coverage_penalty = 0.5;
  for (const std::string line : {"a man", "two dogs play"}) {
    const auto found = model.translate({line}, options)[0];
    ASSERT_LE(found.size(), 3U);
    for (size_t k = 0; k < found.size(); ++k) {
      const std::vector<int32_t> source = source_tokens(*model.translator, line);
      const double coverage = coverage_of_pairs(Inference{*model.model, *model.backend, DType::f32},
                                                {.sources = {source}, .targets = {found[k].ids}})
                                  .front();
      EXPECT_LE(coverage, 0.0);
      const Translation& translation = found[k].translation;
      EXPECT_NEAR(translation.score,
                  translation.log_probability / static_cast<double>(translation.tokens) + 0.5 * coverage, 1e-6);
      EXPECT_TRUE(k == 0 || found[k - 1].translation.score >= translation.score);
    }
  }
}

TEST(GroupSearch, OptionsThatMakeNoSenseAreNamed) {
  const auto refusal = [](const TranslationOptions& options) -> std::string {
    try {
      validate(options);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(refusal(in_groups(5, 2, 0.5, 1)), HasSubstr("groups is 2, expected a number that divides the beam of 5"));
  EXPECT_THAT(refusal(in_groups(4, 0, 0.5, 1)), HasSubstr("groups is 0"));
  EXPECT_THAT(refusal(in_groups(4, 2, -0.5, 1)), HasSubstr("diversity is -0.5"));
  EXPECT_THAT(refusal(in_groups(4, 2, std::nan(""), 1)), HasSubstr("diversity is nan"));
  TranslationOptions options;
  options.patience = 0.0;
  EXPECT_THAT(refusal(options), HasSubstr("patience is 0"));
  options = {};
  options.coverage_penalty = -1.0;
  EXPECT_THAT(refusal(options), HasSubstr("coverage penalty is -1"));
  options = {};
  options.alternatives = 2000;
  EXPECT_THAT(refusal(options), HasSubstr("alternatives is 2000"));
  options.alternatives = 2;
  options.beam = options.n_best = 2;
  EXPECT_THAT(refusal(options), HasSubstr("cannot be combined with groups"));
}

// Unknown words -------------------------------------------------------------------------------------------------------

std::unique_ptr<Tokenizer> words_of_corpus() {
  size_t next = 0;
  return train_tokenizer({.kind = TokenizerKind::word, .user_symbols = {}}, [&](std::string& line) {
    return next < 9 * corpus().size() && (line = corpus()[next++ % corpus().size()], true);
  });
}

TEST(UnknownWords, EachTokenBelongsToAWord) {
  EXPECT_THAT(words_of_tokens(*words_of_corpus(), "a zebra, walking."), ElementsAre("a", "zebra", ",", "walking", "."));
  EXPECT_THAT(words_of_tokens(*characters(), "aß q"), ElementsAre("a", "ß", " ", "q"));
  EXPECT_THAT(words_of_tokens(*characters(), ""), IsEmpty());
}

TEST(UnknownWords, AreReplacedInTheirOrder) {
  const auto tokenizer = words_of_corpus();
  EXPECT_EQ(replace_unknown(*tokenizer, "a <unk> and <unk>.", {"zebra", "Zoë"}), "a zebra and Zoë.");
  EXPECT_EQ(replace_unknown(*tokenizer, "a <unk> and <unk>.", {"", "<unk>"}), "a <unk> and <unk>.");
  EXPECT_EQ(replace_unknown(*tokenizer, "a man", {"zebra"}), "a man");
}

TEST(UnknownWords, AreCopiedOrAvoided) {
  const RandomTranslator model;
  const std::string line = "two dogs play";
  const int32_t unknown = model.tokenizer->special().unk.value;
  TranslationOptions options = in_groups(8, 8, 3.0, 8);
  const auto kept = model.translate({line}, options)[0];
  options.unknown = UnknownWords::copy;
  const auto copied = model.translate({line}, options)[0];
  options.unknown = UnknownWords::avoid;
  const auto avoided = model.translate({line}, options)[0];
  int found = 0;
  for (size_t k = 0; k < kept.size(); ++k) {
    EXPECT_EQ(copied[k].ids, kept[k].ids);
    if (std::ranges::count(kept[k].ids, unknown) > 0) {
      ++found;
      EXPECT_THAT(kept[k].translation.text, HasSubstr("<unk>"));
      EXPECT_THAT(copied[k].translation.text, Not(HasSubstr("<unk>")));
    }
  }
  EXPECT_GT(found, 0);
  for (const TranslatedLine& translated : avoided) {
    EXPECT_EQ(std::ranges::count(translated.ids, unknown), 0);
  }
}

}  // namespace
}  // namespace heed::test
