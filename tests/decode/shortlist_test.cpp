// Translation among candidates: nothing depends on the batch, and with all tokens as candidates nothing changes.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "decode/translator_testing.h"

namespace heed::test {
namespace {

using Ids = std::vector<int32_t>;

Ids random_ids(size_t count, int64_t below, uint64_t seed) {
  Ids ids;
  for (size_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<int32_t>(uniform_draw(RandomKey{seed}, i) * static_cast<double>(below)));
  }
  return ids;
}

// Four targets for each source token, which mean nothing.
Shortlist random_shortlist(const Tokenizer& tokenizer, uint64_t seed) {
  const int64_t vocabulary = tokenizer.vocabulary_size();
  ShortlistTable table{
      .frequent = {7, 8}, .ends = {}, .targets = random_ids(4 * static_cast<size_t>(vocabulary), vocabulary, seed)};
  for (int64_t token = 1; token <= vocabulary; ++token) {
    table.ends.push_back(4 * token);
  }
  return {std::move(table), tokenizer, tokenizer, "test"};
}

Shortlist whole_vocabulary(const Tokenizer& tokenizer) {
  ShortlistTable table{.frequent = {}, .ends = {}, .targets = {}};
  for (int32_t token = 0; token < tokenizer.vocabulary_size(); ++token) {
    table.frequent.push_back(token);
    table.ends.push_back(0);
  }
  return {std::move(table), tokenizer, tokenizer, "test"};
}

void expect_same(const std::vector<TranslatedLine>& found, const std::vector<TranslatedLine>& expected,
                 const std::string& line) {
  ASSERT_EQ(found.size(), expected.size()) << line;
  for (size_t h = 0; h < expected.size(); ++h) {
    EXPECT_EQ(found[h].ids, expected[h].ids) << line;
    EXPECT_EQ(found[h].translation.score, expected[h].translation.score) << line;
    ASSERT_EQ(found[h].translation.each.size(), expected[h].translation.each.size());
    for (size_t i = 0; i < expected[h].translation.each.size(); ++i) {
      EXPECT_EQ(found[h].translation.each[i].log_probability, expected[h].translation.each[i].log_probability);
    }
  }
}

// Every kind of search.
std::vector<TranslationOptions> searches() {
  TranslationOptions ruled{.beam = 3, .max_length = 9, .rules = {.min_length = 5, .no_repeat_ngram = 2}};
  ruled.rules.suppress = {"s"};
  return {{.max_length = 9, .each = EachToken::listed},
          {.beam = 4, .n_best = 4, .max_length = 9, .each = EachToken::listed},
          {.beam = 6, .n_best = 3, .max_length = 9, .groups = 3},
          {.beam = 2, .max_length = 9, .alternatives = 3},
          {.beam = 6, .n_best = 2, .max_length = 12, .force = {"dog"}},
          {.beam = 2, .max_length = 9, .alignments = Alignments::pieces, .coverage_penalty = 0.2},
          ruled};
}

std::vector<std::string> lines_of(size_t count) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < count; ++i) {
    const std::string& line = corpus()[i % corpus().size()];
    lines.push_back(i % 11 == 10 ? "" : line.substr(i % 3, 1 + (i * 7) % 17));
  }
  for (std::string& line : lines) {  // cut within a character
    while (!line.empty() && (static_cast<unsigned char>(line.front()) & 0xC0U) == 0x80U) {
      line.erase(0, 1);
    }
    while (!line.empty() && static_cast<unsigned char>(line.back()) >= 0x80U) {
      line.pop_back();
    }
  }
  return lines;
}

class WithShortlist : public testing::TestWithParam<DType> {
 protected:
  RandomTranslator t_{GetParam()};
  Shortlist some_ = random_shortlist(*t_.tokenizer, 3), all_ = whole_vocabulary(*t_.tokenizer);
};

TEST_P(WithShortlist, ALineIsTranslatedTheSameAloneAndInAnyBatch) {
  t_.translator->shortlist = &some_;
  std::vector<std::string> lines = lines_of(90);
  for (const TranslationOptions& options : searches()) {
    const auto together = t_.translate(lines, options);
    const auto backwards = t_.translate({lines.rbegin(), lines.rend()}, options);
    for (size_t i = 0; i < lines.size(); i += 5) {
      const auto alone = t_.translate({lines[i]}, options)[0];
      expect_same(together[i], alone, lines[i]);
      expect_same(backwards[lines.size() - 1 - i], alone, lines[i]);
    }
  }
}

// Sentences with any candidates, and some with none, in random batches.
TEST_P(WithShortlist, CandidatesOfOthersChangeNothing) {
  const int64_t vocabulary = t_.tokenizer->vocabulary_size();
  const SearchRules rules;
  std::vector<Ids> sources, candidates;
  for (uint64_t s = 0; s < 40; ++s) {
    sources.push_back(random_ids(3 + s % 5, vocabulary, 100 + s));
    Ids own = random_ids(s % 7 == 6 ? 0 : 5 + 3 * s % 20, vocabulary, 200 + s);
    if (!own.empty()) {
      own.push_back(rules.tokens.eos);
    }
    std::ranges::sort(own);
    own.erase(std::unique(own.begin(), own.end()), own.end());
    candidates.push_back(std::move(own));
  }
  const Inference inference{*t_.model, *t_.backend, GetParam()};
  for (const int64_t beam : {1, 4}) {
    const TranslationOptions options{.beam = beam, .n_best = beam, .max_length = 7};
    std::vector<std::vector<Hypothesis>> alone;
    for (size_t s = 0; s < sources.size(); ++s) {
      alone.push_back(
          translate_tokens(inference, {sources[s]}, options, rules, std::span(candidates).subspan(s, 1))[0]);
      for (const Hypothesis& hypothesis : alone.back()) {
        for (const int32_t token : hypothesis.tokens) {
          EXPECT_TRUE(candidates[s].empty() || std::ranges::binary_search(candidates[s], token));
        }
      }
    }
    for (uint64_t mix = 0; mix < 6; ++mix) {
      const Ids chosen = random_ids(2 + 7 * mix, 40, 300 + mix);
      std::vector<Ids> batch, of_batch;
      for (const int32_t s : chosen) {
        batch.push_back(sources[static_cast<size_t>(s)]);
        of_batch.push_back(candidates[static_cast<size_t>(s)]);
      }
      const auto found = translate_tokens(inference, batch, options, rules, of_batch);
      for (size_t k = 0; k < chosen.size(); ++k) {
        const auto& expected = alone[static_cast<size_t>(chosen[k])];
        ASSERT_EQ(found[k].size(), expected.size());
        for (size_t h = 0; h < expected.size(); ++h) {
          EXPECT_EQ(found[k][h].tokens, expected[h].tokens);
          EXPECT_EQ(found[k][h].token_log_probabilities, expected[h].token_log_probabilities);
        }
      }
    }
  }
}

TEST_P(WithShortlist, TheWholeVocabularyGivesTheBitsOfNoShortlist) {
  const std::vector<std::string> lines = lines_of(40);
  for (const TranslationOptions& options : searches()) {
    t_.translator->shortlist = nullptr;
    const auto expected = t_.translate(lines, options);
    t_.translator->shortlist = &all_;
    const auto found = t_.translate(lines, options);
    for (size_t i = 0; i < lines.size(); ++i) {
      expect_same(found[i], expected[i], lines[i]);
    }
  }
}

// Their prefixes have more tokens than one pass takes.
TEST_P(WithShortlist, LongPrefixesAreScoredAmongTheCandidates) {
  std::vector<std::string> lines(64, "two dogs play");
  TranslationOptions options{.max_length = 30, .each = EachToken::listed};
  for (size_t i = 0; i < lines.size(); ++i) {
    options.prefixes.push_back(std::string("ein Hund play in the park").substr(0, 20 + i % 5));
  }
  const auto plain = t_.translate(lines, options);
  t_.translator->shortlist = &all_;
  const auto over_all = t_.translate(lines, options);
  t_.translator->shortlist = &some_;
  const auto together = t_.translate(lines, options);
  for (size_t i = 0; i < lines.size(); i += 13) {
    expect_same(over_all[i], plain[i], options.prefixes[i]);
    TranslationOptions own = options;
    own.prefixes = {options.prefixes[i]};
    expect_same(together[i], t_.translate({lines[i]}, own)[0], options.prefixes[i]);
    EXPECT_TRUE(together[i][0].translation.text.starts_with(options.prefixes[i]));
  }
}

TEST_P(WithShortlist, ProbabilitiesAreNormalisedOverTheCandidates) {
  const auto stepper = make_stepper({*t_.model, *t_.backend, GetParam()});
  const Ids source{6, 9, 7, 3}, candidates{3, 5, 11, 20}, bos{2};
  const std::vector<SequenceId> sequences = stepper->begin(std::vector<Ids>{source, source});
  const std::vector<Candidates> restrictions{{sequences[1], candidates}};
  const std::vector<Fresh> free{{sequences[0], bos}}, restricted{{sequences[1], bos}};
  const NextTokens plain = stepper->next(free);
  std::vector<float> logits;
  double sum = 0.0;
  for (const int32_t token : candidates) {
    logits.push_back(plain.logits(0, token));
    sum += std::exp(static_cast<double>(logits.back()));
  }
  stepper->restrict_to(restrictions);
  const NextTokens next = stepper->next(restricted);
  ASSERT_EQ(next.log_probs.columns, 4);
  for (size_t i = 0; i < candidates.size(); ++i) {
    EXPECT_NEAR(next.log_probs(0, static_cast<int64_t>(i)), static_cast<double>(logits[i]) - std::log(sum), 1e-5);
  }
}

TEST_P(WithShortlist, DraftsChangeNoTranslation) {
  const std::vector<std::string> lines = lines_of(12);
  t_.translator->shortlist = &some_;
  const auto expected = t_.translate(lines, {.max_length = 12});
  for (const Drafts by : {Drafts::model, Drafts::prompt, Drafts::layers}) {
    DraftLog log;
    const Drafting drafting{{.by = by, .layers = 1, .tokens = 3}, &*t_.model, log};
    t_.draft_with(&drafting);
    t_.translator->shortlist = &some_;
    const auto found = t_.translate(lines, {.max_length = 12});
    for (size_t i = 0; i < lines.size(); ++i) {
      expect_same(found[i], expected[i], lines[i]);
    }
    t_.draft_with(nullptr);
  }
}

TEST_P(WithShortlist, RulesThatForbidAllCandidatesAreRefused) {
  const SearchRules rules{.tokens = {.suppressed = {5, 3}}};
  const std::vector<Ids> candidates{{3, 5}};
  const Inference inference{*t_.model, *t_.backend, GetParam()};
  const auto refusal = [&] {
    try {
      translate_tokens(inference, {{6, 7, 3}}, {.max_length = 6}, rules, candidates);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(refusal(), testing::HasSubstr("forbid all tokens of the shortlist"));
}

INSTANTIATE_TEST_SUITE_P(, WithShortlist, testing::Values(DType::f32, DType::bf16),
                         [](const auto& p) { return std::string(name_of(p.param)); });

TEST(Shortlists, ThreadsChangeNothing) {
  std::vector<std::vector<std::vector<TranslatedLine>>> found;
  const std::vector<std::string> lines = lines_of(150);
  for (const int threads : {1, 2, 3}) {
    RandomTranslator t(DType::f32, threads);
    const Shortlist some = random_shortlist(*t.tokenizer, 3);
    t.translator->shortlist = &some;
    found.push_back(t.translate(lines, {.beam = 2, .n_best = 2, .max_length = 8}));
    for (size_t i = 0; i < lines.size(); ++i) {
      expect_same(found.back()[i], found.front()[i], lines[i]);
    }
  }
}

}  // namespace
}  // namespace heed::test
