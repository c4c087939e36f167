#include "decode/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/random.h"
#include "decode/steppers/stepper.h"
#include "decode/texts/translation/translation.h"
#include "models/random_weights.h"

namespace heed {
namespace {

using Ids = std::vector<int32_t>;

constexpr int32_t kBos = 2, kEos = 3;

ModelConfig small_config(int64_t vocabulary) {
  return {.model = 32,
          .inner = 48,
          .heads = 4,
          .key_value_heads = 2,
          .encoder_layers = 2,
          .decoder_layers = 2,
          .source_vocabulary = 23,
          .target_vocabulary = vocabulary,
          .max_length = 64};
}

struct RandomModel : test::RandomWeights {
  explicit RandomModel(DType storage = DType::f32, int64_t vocabulary = 29, Positions positions = Positions::sinusoidal)
      : config(small_config(vocabulary)) {
    config.positions = positions;
    draw(config, storage, 7);
    inference.emplace(Inference{*model, *backend, storage});
  }
  RandomModel(DType storage, const ModelConfig& own) : config(own) {
    draw(config, storage, 7);
    inference.emplace(Inference{*model, *backend, storage});
  }

  ModelConfig config;
  std::optional<Inference> inference;
};

ModelConfig recurrent_config() {
  ModelConfig config = small_config(29);
  config.autoregression = Autoregression::ssru;
  return config;
}

std::vector<Ids> random_sources(int64_t count) {
  std::vector<Ids> sources;
  for (int64_t s = 0; s < count; ++s) {
    const RandomKey key = RandomKey{11}.derive(static_cast<uint64_t>(s));
    Ids source(1 + static_cast<size_t>(uniform_draw(key, 0) * 12));
    for (size_t i = 0; i < source.size(); ++i) {
      source[i] = 4 + static_cast<int32_t>(uniform_draw(key, i + 1) * 19);
    }
    source.push_back(kEos);
    sources.push_back(source);
  }
  return sources;
}

Tensor full_logits(const RandomModel& m, const Ids& source, const Ids& target) {
  Pass pass = Pass::infer(*m.backend, m.inference->storage);
  const SourceSequences sources({source});
  const TargetSequences targets({target});
  const Seq2Seq& model = m.model->seq2seq();
  const Memory memory = model.encode(pass, sources);
  const Logits logits = model.logits(pass, model.decode(pass, targets, memory));
  Tensor result({logits.var().rows(), logits.var().columns()}, DType::f32);
  m.backend->copy(logits.var().value(), result.view());
  return result;
}

class Search : public testing::TestWithParam<DType> {};

TEST_P(Search, CachedDecodingGivesTheBitsOfTheFullComputation) {
  std::vector<ModelConfig> configs{recurrent_config()};
  for (const Positions positions :
       {Positions::sinusoidal, Positions::rotary, Positions::alibi, Positions::relative_bias, Positions::relative_keys,
        Positions::relative_keys_values}) {
    configs.push_back(small_config(29));
    configs.back().positions = positions;
  }
  for (const ModelConfig& config : configs) {
    const RandomModel m(GetParam(), config);
    const Ids source = random_sources(1)[0];
    Ids target{kBos};
    for (int32_t i = 0; i < 40; ++i) {
      target.push_back(4 + i * 7 % 25);
    }
    const Tensor expected = full_logits(m, source, target);
    const auto stepper = make_stepper(*m.inference);
    const SequenceId sequence = stepper->begin({{source}}).front();
    size_t done = 0;
    for (const size_t step : {size_t{1}, size_t{1}, size_t{17}, size_t{3}, size_t{1}, size_t{18}}) {
      const std::vector<NewTokens> new_tokens{{sequence, std::span(target).subspan(done, step), RowsWanted::all}};
      const NextTokens next = stepper->next(new_tokens);
      for (size_t i = 0; i < step; ++i) {
        for (int64_t c = 0; c < 29; ++c) {
          ASSERT_EQ(next.logits(static_cast<int64_t>(i), c),
                    host<float>(expected.view())(static_cast<int64_t>(done + i), c))
              << "token " << done + i << ", column " << c;
        }
      }
      done += step;
    }
    ASSERT_EQ(done, target.size());
  }
}

TEST_P(Search, BeamOneIsGreedy) {
  const RandomModel m(GetParam());
  for (const Ids& source : random_sources(10)) {
    Ids target{kBos};
    while (static_cast<int64_t>(target.size()) <= 2 * static_cast<int64_t>(source.size()) + 15) {
      const Tensor logits = full_logits(m, source, target);
      const float* const row = host<float>(logits.view()).row(static_cast<int64_t>(target.size()) - 1);
      const auto token = static_cast<int32_t>(std::max_element(row, row + 29) - row);
      if (token == kEos) {
        break;
      }
      target.push_back(token);
    }
    target.erase(target.begin());
    EXPECT_EQ(translate_tokens(*m.inference, {source}, {})[0][0].tokens, target);
  }
}

TEST_P(Search, ASentenceIsTranslatedTheSameAloneAndInAnyBatch) {
  const RandomModel m(GetParam());
  const std::vector<Ids> sources = random_sources(13);
  for (const int64_t beam : {1, 4}) {
    const TranslationOptions options{.beam = beam, .n_best = beam};
    const auto together = translate_tokens(*m.inference, sources, options);
    std::vector<Ids> reversed(sources.rbegin(), sources.rend());
    const auto backwards = translate_tokens(*m.inference, reversed, options);
    for (size_t s = 0; s < sources.size(); ++s) {
      const auto alone = translate_tokens(*m.inference, {sources[s]}, options)[0];
      for (const auto& other : {together[s], backwards[sources.size() - 1 - s]}) {
        ASSERT_EQ(other.size(), alone.size());
        for (size_t h = 0; h < alone.size(); ++h) {
          EXPECT_EQ(other[h].tokens, alone[h].tokens);
          EXPECT_EQ(other[h].log_probability, alone[h].log_probability);
        }
      }
    }
  }
}

// Cells of hypotheses are forked, rolled back and freed like keys and values; a beam of all there is finds the same.
TEST_P(Search, ARecurrentDecodersSentencesAreTheSameAloneAndInAnyBatch) {
  const RandomModel m(GetParam(), recurrent_config());
  const std::vector<Ids> sources = random_sources(9);
  const TranslationOptions options{.beam = 4, .n_best = 4};
  const auto together = translate_tokens(*m.inference, sources, options);
  std::vector<Ids> targets;
  for (size_t s = 0; s < sources.size(); ++s) {
    const auto alone = translate_tokens(*m.inference, {sources[s]}, options)[0];
    ASSERT_EQ(together[s].size(), alone.size());
    for (size_t h = 0; h < alone.size(); ++h) {
      EXPECT_EQ(together[s][h].tokens, alone[h].tokens);
      EXPECT_EQ(together[s][h].log_probability, alone[h].log_probability);
    }
    targets.push_back(alone[0].tokens);
  }
  const std::vector<double> scores = score_pairs(*m.inference, {sources, targets});
  for (size_t s = 0; s < sources.size(); ++s) {
    EXPECT_NEAR(together[s][0].log_probability, scores[s], GetParam() == DType::bf16 ? 0.3 : 1e-3);
  }
}

TEST_P(Search, ARecurrentDecoderForksAndRollsBackAndKeepsOnePageOfCells) {
  const RandomModel m(GetParam(), recurrent_config());
  const Ids source = random_sources(1)[0];
  Ids target{kBos};
  for (int32_t i = 0; i < 40; ++i) {
    target.push_back(4 + i * 7 % 25);
  }
  const Tensor expected = full_logits(m, source, target);
  const auto stepper = make_stepper(*m.inference, {.roll_back = 3});
  SequenceId sequence = stepper->begin({{source}}).front();
  for (size_t t = 0; t < target.size(); ++t) {
    const Ids wrong{5, 6, 7};
    const SequenceId fork = stepper->fork(sequence);
    stepper->next({{{sequence, std::span(wrong).first(t % 3 + 1), RowsWanted::none}}});
    if (t % 2 == 0) {
      stepper->roll_back(sequence, static_cast<int64_t>(t));
      stepper->remove(fork);
    } else {
      stepper->remove(sequence);
      sequence = fork;
    }
    const NextTokens next = stepper->next({{{sequence, std::span(target).subspan(t, 1)}}});
    for (int64_t c = 0; c < 29; ++c) {
      ASSERT_EQ(next.logits(0, c), host<float>(expected.view())(static_cast<int64_t>(t), c)) << t << " " << c;
    }
  }
}

TEST(RecurrentDecoder, RefusesACacheOfAnotherType) {
  const RandomModel m(DType::f32, recurrent_config());
  Inference other = *m.inference;
  other.cached = DType::i8;
  try {
    make_stepper(other);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("the model's decoder is recurrent"), std::string::npos) << error.what();
  }
}

TEST_P(Search, ScoresAreThoseOfThePairs) {
  const RandomModel m(GetParam());
  const std::vector<Ids> sources = random_sources(6);
  const TranslationOptions options{.beam = 3, .length_penalty = 0.6};
  const auto found = translate_tokens(*m.inference, sources, options);
  std::vector<Ids> targets;
  for (const auto& hypotheses : found) {
    targets.push_back(hypotheses[0].tokens);
  }
  const std::vector<double> scores = score_pairs(*m.inference, {sources, targets});
  for (size_t s = 0; s < sources.size(); ++s) {
    const Hypothesis& best = found[s][0];
    const double tolerance = GetParam() == DType::bf16 ? 0.3 : 1e-3;
    EXPECT_NEAR(best.log_probability, scores[s], tolerance);
    EXPECT_DOUBLE_EQ(best.score, best.log_probability / std::pow(best.tokens.size() + 1.0, 0.6));
  }
}

// In steps of at most 256 rows, one of which cuts a sequence.
TEST(ScoresOfPairs, RoundKeysAndValuesAsTheSearchDoes) {
  const RandomModel m(DType::f32);
  const std::vector<Ids> sources = random_sources(40);
  for (const DType type : {DType::bf16, DType::i8}) {
    Inference inference = *m.inference;
    inference.cached = type;
    std::vector<Ids> targets;
    const auto found = translate_tokens(inference, sources, {.beam = 2});
    for (const auto& hypotheses : found) {
      targets.push_back(hypotheses[0].tokens);
    }
    const std::vector<double> scores = score_pairs(inference, {sources, targets});
    for (size_t s = 0; s < sources.size(); ++s) {
      EXPECT_NEAR(found[s][0].log_probability, scores[s], 1e-9) << name_of(type) << s;
    }
    EXPECT_NE(scores, score_pairs(*m.inference, {sources, targets}));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Search, testing::Values(DType::f32, DType::bf16),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

// Vocabulary 6, at most 4 tokens: every sequence can be scored, and those counted that contain the phrases.
void expect_the_best_of_all(const SearchRules& rules) {
  const RandomModel m(DType::f32, 6);
  const TranslationOptions options{.beam = 600, .length_penalty = 0.0, .n_best = 5, .max_length = 4};
  const Ids source = random_sources(1)[0];
  std::vector<Ids> all{{}};
  for (size_t begin = 0, length = 0; length < 3; ++length) {
    const size_t end = all.size();
    for (; begin < end; ++begin) {
      for (const int32_t token : {0, 1, 2, 4, 5}) {
        Ids longer = all[begin];
        longer.push_back(token);
        all.push_back(longer);
      }
    }
  }
  const std::vector<Ids> sources(all.size(), source);
  const std::vector<double> scores = score_pairs(*m.inference, {.sources = sources, .targets = all});
  std::multimap<double, Ids, std::greater<>> ranked;
  for (size_t i = 0; i < all.size(); ++i) {
    if (rules.forced.met(all[i]) == rules.forced.tokens()) {
      ranked.emplace(scores[i], all[i]);
    }
  }
  const auto found = translate_tokens(*m.inference, {source}, options, rules)[0];
  ASSERT_EQ(found.size(), 5U);
  auto expected = ranked.begin();
  for (const Hypothesis& hypothesis : found) {
    EXPECT_EQ(hypothesis.tokens, expected->second);
    EXPECT_NEAR(hypothesis.score, expected->first, 1e-4);
    ++expected;
  }
}

TEST(SearchBeam, AWideBeamFindsTheBestOfAll) { expect_the_best_of_all({}); }

TEST(SearchBeam, AWideBeamFindsTheBestOfAllThatContainThePhrases) {
  expect_the_best_of_all({.forced = ForcedPhrases({{4, 5}})});
  expect_the_best_of_all({.forced = ForcedPhrases({{5}, {1}})});
}

TEST(SearchBeam, TranslationsContainForcedPhrasesAloneAndInAnyBatch) {
  const RandomModel m;
  const ForcedPhrases phrases({{9, 17, 9}, {21}});
  // Barely long enough, and long.
  for (const int64_t max_length : {5, 30}) {
    const TranslationOptions options{.beam = 6, .n_best = 2, .max_length = max_length};
    const SearchRules rules{.forced = phrases};
    const std::vector<Ids> sources = random_sources(12);
    const auto together = translate_tokens(*m.inference, sources, options, rules);
    for (size_t s = 0; s < sources.size(); ++s) {
      const auto alone = translate_tokens(*m.inference, {sources[s]}, options, rules)[0];
      ASSERT_EQ(alone.size(), together[s].size());
      for (size_t h = 0; h < alone.size(); ++h) {
        EXPECT_EQ(phrases.met(alone[h].tokens), phrases.tokens());
        EXPECT_LT(static_cast<int64_t>(alone[h].tokens.size()), max_length);
        EXPECT_EQ(alone[h].tokens, together[s][h].tokens);
        EXPECT_EQ(alone[h].log_probability, together[s][h].log_probability);
      }
    }
  }
}

TEST(SearchBeam, ForbiddenTokensDoNotAppearAndLengthsHold) {
  const RandomModel m;
  const TranslationOptions options{.beam = 2, .max_length = 5};
  const SearchRules rules{.tokens = {.suppressed = {0, 1, 2}}};
  for (const auto& hypotheses : translate_tokens(*m.inference, random_sources(10), options, rules)) {
    EXPECT_LE(hypotheses[0].tokens.size(), 4U);
    for (const int32_t token : hypotheses[0].tokens) {
      EXPECT_GT(token, 3);
    }
  }
}

TEST(SearchBeam, AnEmptySourceStillHasAResult) {
  const RandomModel m;
  EXPECT_EQ(translate_tokens(*m.inference, {{kEos}, {}}, {}).size(), 2U);
  EXPECT_TRUE(translate_tokens(*m.inference, {}, {}).empty());
}

TEST(SearchBeam, AModelThatComputesNaNIsRefused) {
  const RandomModel m;
  m.backend->fill(m.trainables->masters(), std::nan(""));
  for (const int64_t max_length : {0, 1}) {
    EXPECT_THROW(translate_tokens(*m.inference, random_sources(2), {.max_length = max_length}), FormatError);
  }
}

TEST(SearchBeam, LargeVocabulariesAreSearchedCompletely) {
  // Blocks of tokens are passed over at once; what is found must be what a plain search of every token finds.
  for (const int64_t vocabulary : {63, 64, 65, 1000}) {
    const RandomModel m(DType::f32, vocabulary);
    const Ids source = random_sources(1)[0];
    const Tensor logits = full_logits(m, source, {kBos});
    const float* const row = host<float>(logits.view()).row(0);
    std::vector<std::pair<float, int32_t>> ranked;
    for (int32_t token = 0; token < vocabulary; ++token) {
      if (token != kEos) {
        ranked.emplace_back(-row[token], token);
      }
    }
    std::ranges::sort(ranked);
    const auto found =
        translate_tokens(*m.inference, {source}, {.beam = 5, .length_penalty = 0.0, .n_best = 5, .max_length = 2});
    std::set<int32_t> firsts, expected;
    for (const Hypothesis& hypothesis : found[0]) {
      if (!hypothesis.tokens.empty()) {
        firsts.insert(hypothesis.tokens[0]);
      }
    }
    for (size_t i = 0; i < 5; ++i) {
      expected.insert(ranked[i].second);
    }
    EXPECT_TRUE(std::ranges::includes(expected, firsts)) << vocabulary;
    EXPECT_GE(firsts.size(), 4U) << vocabulary;
  }
}

TEST(SearchBeam, RefusesOptionsThatMakeNoSense) {
  const RandomModel m;
  const std::vector<Ids> sources{{4, kEos}};
  EXPECT_THROW(translate_tokens(*m.inference, sources, {.beam = 0}), ConfigError);
  EXPECT_THROW(translate_tokens(*m.inference, sources, {.beam = 2, .n_best = 3}), ConfigError);
  EXPECT_THROW(translate_tokens(*m.inference, sources, {.length_penalty = std::nan("")}), ConfigError);
  EXPECT_THROW(translate_tokens(*m.inference, sources, {.max_length = -1}), ConfigError);
}

}  // namespace
}  // namespace heed
