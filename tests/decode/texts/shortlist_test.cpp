// Translation among candidates: nothing depends on the batch, and with all tokens as candidates nothing changes.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "decode/language_model_testing.h"
#include "decode/texts/shortlist_testing.h"
#include "text/token_ids.h"

namespace heed::test {
namespace {

using Ids = std::vector<int32_t>;

// A sentence's candidates are its own tokens alone.
Shortlist nothing_learned(const Tokenizer& tokenizer) {
  const auto vocabulary = static_cast<size_t>(tokenizer.vocabulary_size());
  return {{.frequent = {}, .ends = std::vector<int64_t>(vocabulary, 0), .targets = {}}, {tokenizer, tokenizer}, "test"};
}

Shortlist whole_vocabulary(const Tokenizer& tokenizer) {
  ShortlistTable table{.frequent = {}, .ends = {}, .targets = {}};
  for (int32_t token = 0; token < tokenizer.vocabulary_size(); ++token) {
    table.frequent.push_back(token);
    table.ends.push_back(0);
  }
  return {std::move(table), {tokenizer, tokenizer}, "test"};
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
      expect_same_translations(together[i], alone, lines[i]);
      expect_same_translations(backwards[lines.size() - 1 - i], alone, lines[i]);
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
    Ids own = random_ids(s % 7 == 6 ? 0 : 1 + 3 * s % 20, vocabulary, 200 + s);
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
      const Ids chosen = random_ids(2 + 16 * mix, 40, 300 + mix);
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
      expect_same_translations(found[i], expected[i], lines[i]);
    }
  }
}

// Their prefixes have more tokens than one pass takes.
TEST_P(WithShortlist, LongPrefixesAreScoredAmongTheCandidates) {
  std::vector<std::string> lines(160, "two dogs play");
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
    expect_same_translations(over_all[i], plain[i], options.prefixes[i]);
    TranslationOptions own = options;
    own.prefixes = {options.prefixes[i]};
    expect_same_translations(together[i], t_.translate({lines[i]}, own)[0], options.prefixes[i]);
    EXPECT_TRUE(together[i][0].translation.text.starts_with(options.prefixes[i]));
  }
}

TEST_P(WithShortlist, ProbabilitiesAreNormalisedOverTheCandidates) {
  const auto stepper = make_stepper({*t_.model, *t_.backend, GetParam()});
  const Ids source{6, 9, 7, 3}, candidates{3, 5, 11, 20}, bos{2};
  const std::vector<SequenceId> sequences = stepper->begin(std::vector<Ids>{source, source});
  const std::vector<Candidates> restrictions{{sequences[1], candidates}};
  const std::vector<NewTokens> free{{sequences[0], bos}}, restricted{{sequences[1], bos}};
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

TEST_P(WithShortlist, APrefixHasItsProbabilityAmongTheCandidates) {
  const std::string line = "two dogs play", prefix = "ein Hund";
  const Shortlist none = nothing_learned(*t_.tokenizer);
  t_.translator->shortlist = &none;
  TranslationOptions options{.max_length = 12, .each = EachToken::listed};
  options.prefixes = {prefix};
  const TranslatedLine found = t_.translate({line}, options)[0][0];
  const Ids of_prefix = ids_of(t_.tokenizer->encode(prefix)), source = source_tokens(*t_.translator, line);
  const Ids candidates = none.candidates(source, of_prefix);
  Ids read{t_.tokenizer->special().bos.value};
  read.insert(read.end(), of_prefix.begin(), of_prefix.end());
  const auto stepper = make_stepper({*t_.model, *t_.backend, GetParam()});
  const SequenceId sequence = stepper->begin(std::vector<Ids>{source})[0];
  stepper->restrict_to(std::vector<Candidates>{{sequence, candidates}});
  const NextTokens next = stepper->next(std::vector<NewTokens>{{sequence, read, RowsWanted::all}});
  for (size_t i = 0; i < of_prefix.size(); ++i) {
    const auto column = std::ranges::lower_bound(candidates, of_prefix[i]) - candidates.begin();
    EXPECT_EQ(found.translation.each[i].log_probability, next.log_probs(static_cast<int64_t>(i), column));
  }
}

TEST_P(WithShortlist, TheEndHasItsProbabilityAmongTheCandidates) {
  const Inference inference{*t_.model, *t_.backend, GetParam()};
  const Ids source{6, 9, 7, 3}, candidates{3, 5, 11, 20}, bos{2};
  const auto stepper = make_stepper(inference);
  const SequenceId sequence = stepper->begin(std::vector<Ids>{source})[0];
  stepper->restrict_to(std::vector<Candidates>{{sequence, candidates}});
  const float of_end = stepper->next(std::vector<NewTokens>{{sequence, bos}}).log_probs(0, 0);
  const auto found = translate_tokens(inference, {source}, {.max_length = 1}, {}, std::vector<Ids>{candidates});
  EXPECT_THAT(found[0][0].token_log_probabilities, testing::ElementsAre(of_end));
}

TEST_P(WithShortlist, GroupsAvoidTheTokensOfOthers) {
  const Inference inference{*t_.model, *t_.backend, GetParam()};
  const TranslationOptions options{.beam = 2, .n_best = 2, .max_length = 4, .groups = 2, .diversity = 1000.0};
  const auto found = translate_tokens(inference, {{6, 9, 7, 3}}, options, {}, std::vector<Ids>{{3, 5, 11, 20}})[0];
  const auto first = [](const Hypothesis& hypothesis) {
    return hypothesis.tokens.empty() ? 3 : hypothesis.tokens.front();
  };
  EXPECT_NE(first(found.at(0)), first(found.at(1)));
}

TEST_P(WithShortlist, CandidatesGoWithTheirSequence) {
  const auto stepper = make_stepper({*t_.model, *t_.backend, GetParam()});
  const Ids source{6, 9, 7, 3}, candidates{3, 5}, bos{2};
  const SequenceId restricted = stepper->begin(std::vector<Ids>{source})[0];
  stepper->restrict_to(std::vector<Candidates>{{restricted, candidates}});
  stepper->remove(restricted);
  const SequenceId another = stepper->begin(std::vector<Ids>{source})[0];
  EXPECT_EQ(stepper->next(std::vector<NewTokens>{{another, bos}}).logits.columns, t_.tokenizer->vocabulary_size());
}

TEST_P(WithShortlist, CandidatesThatCannotBeAreRefused) {
  const auto stepper = make_stepper({*t_.model, *t_.backend, GetParam()});
  const SequenceId sequence = stepper->begin(std::vector<Ids>{{6, 9, 3}})[0];
  const auto vocabulary = static_cast<int32_t>(t_.tokenizer->vocabulary_size());
  for (const Ids& wrong : {Ids{}, Ids{5, 3}, Ids{3, 3}, Ids{-1, 3}, Ids{3, vocabulary}}) {
    EXPECT_THROW(stepper->restrict_to(std::vector<Candidates>{{sequence, wrong}}), InternalError);
  }
  EXPECT_THROW(translate_tokens({*t_.model, *t_.backend, GetParam()}, {{6, 3}, {7, 3}}, {}, {}, std::vector<Ids>{{3}}),
               ShapeError);
}

TEST_P(WithShortlist, DamagedWeightsAreNamedAsSuch) {
  t_.bias(TokenId{5}, std::numeric_limits<float>::quiet_NaN());
  const Inference inference{*t_.model, *t_.backend, GetParam()};
  EXPECT_THROW(translate_tokens(inference, {{6, 7, 3}}, {.max_length = 6}, {}, std::vector<Ids>{{3, 5}}), FormatError);
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
      expect_same_translations(found[i], expected[i], lines[i]);
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

TEST(Shortlists, ALanguageModelHasNoCandidates) {
  const RandomLanguageModel m;
  const auto stepper = make_stepper({*m.model, *m.backend, DType::f32});
  const SequenceId sequence = stepper->begin(std::vector<Ids>{{}})[0];
  const Ids candidates{3, 5};
  EXPECT_THROW(stepper->restrict_to(std::vector<Candidates>{{sequence, candidates}}), InternalError);
}

}  // namespace
}  // namespace heed::test
