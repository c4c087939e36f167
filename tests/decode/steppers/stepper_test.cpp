#include "decode/steppers/stepper.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <optional>

#include "base/random.h"
#include "decode/scheduling/request_batch.h"
#include "decode/search/search.h"
#include "models/random_weights.h"
#include "ops/loss/loss.h"

namespace heed {
namespace {

using Ids = std::vector<int32_t>;

constexpr int64_t kVocabulary = 31;

ModelConfig small_language_model() {
  return {.architecture = Architecture::causal_lm,
          .model = 32,
          .inner = 48,
          .heads = 4,
          .key_value_heads = 2,
          .encoder_layers = 0,
          .decoder_layers = 2,
          .source_vocabulary = 0,
          .target_vocabulary = kVocabulary,
          .max_length = 3000,
          .positions = Positions::rotary};
}

ModelConfig with_attention(int64_t window, Positions positions, const std::vector<LayerPattern>& attention) {
  ModelConfig config = small_language_model();
  config.positions = positions;
  config.window = window;
  config.attention = attention;
  return config;
}

struct RandomLanguageModel : test::RandomWeights {
  explicit RandomLanguageModel(DType storage, int64_t window = 0, Positions positions = Positions::rotary,
                               const std::vector<LayerPattern>& attention = {{{}}})
      : RandomLanguageModel(storage, with_attention(window, positions, attention)) {}
  RandomLanguageModel(DType storage, const ModelConfig& config) {
    draw(config, storage, 3);
    inference.emplace(Inference{*model, *backend, storage});
  }

  std::optional<Inference> inference;
};

Ids random_tokens(size_t count, uint64_t seed) {
  Ids tokens;
  for (size_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<int32_t>(uniform_draw(RandomKey{seed}, i) * static_cast<double>(kVocabulary)));
  }
  return tokens;
}

std::vector<float> row_of(const HostView<float>& values, int64_t row) {
  return {values.row(row), values.row(row) + values.columns};
}

// The next-token distribution after the last token, from a full pass.
std::vector<float> full_logits(const RandomLanguageModel& m, const Ids& tokens) {
  Pass pass = Pass::infer(*m.backend, m.inference->storage);
  const CausalLM& model = m.model->causal_lm();
  const Sequences sequences({tokens});
  const Logits logits = model.logits(pass, model.hidden(pass, sequences));
  return row_of(host<float>(logits.var().value()), sequences.rows() - 1);
}

class StepperOfALanguageModel : public testing::TestWithParam<DType> {
 protected:
  static SequenceId begin(Stepper& stepper) { return stepper.begin({{Ids{}}}).front(); }
  static std::vector<float> next(Stepper& stepper, SequenceId sequence, std::span<const int32_t> tokens) {
    const std::vector<NewTokens> new_tokens{{sequence, tokens}};
    return row_of(stepper.next(new_tokens).logits, 0);
  }
  // Those of the last token, after a prompt in one step and the rest one by one.
  static std::vector<float> logits_token_by_token(Stepper& stepper, const Ids& tokens, size_t prompt) {
    const SequenceId sequence = begin(stepper);
    next(stepper, sequence, std::span(tokens).first(prompt));
    std::vector<float> last;
    for (size_t i = prompt; i < tokens.size(); ++i) {
      last = next(stepper, sequence, std::span(tokens).subspan(i, 1));
    }
    return last;
  }
};

TEST_P(StepperOfALanguageModel, APromptInOneOrManyChunksGivesTheBitsOfAFullPass) {
  const RandomLanguageModel m(GetParam());
  const Ids tokens = random_tokens(2500, 1);
  const std::vector<float> expected = full_logits(m, tokens);
  const auto stepper = make_stepper(*m.inference);
  EXPECT_EQ(next(*stepper, begin(*stepper), tokens), expected);
  const SequenceId sequence = begin(*stepper);
  size_t done = 0;
  for (const size_t step : {size_t{1}, size_t{16}, size_t{1100}, size_t{3}, size_t{1380}}) {
    const std::vector<float> found = next(*stepper, sequence, std::span(tokens).subspan(done, step));
    done += step;
    EXPECT_EQ(found, full_logits(m, Ids(tokens.begin(), tokens.begin() + static_cast<int64_t>(done)))) << done;
  }
  ASSERT_EQ(done, tokens.size());
}

TEST_P(StepperOfALanguageModel, ASequenceIsTheSameInAnyBatch) {
  const RandomLanguageModel m(GetParam());
  const auto stepper = make_stepper(*m.inference);
  const Ids tokens = random_tokens(30, 2), other = random_tokens(700, 3);
  const SequenceId alone = begin(*stepper);
  std::vector<std::vector<float>> expected;
  for (size_t i = 0; i < tokens.size(); ++i) {
    expected.push_back(next(*stepper, alone, std::span(tokens).subspan(i, 1)));
  }
  // Others join, with prompts of several passes, and leave.
  const SequenceId sequence = begin(*stepper);
  std::vector<SequenceId> others;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i % 3 == 0) {
      others.push_back(begin(*stepper));
    }
    std::vector<NewTokens> new_tokens;
    for (const SequenceId id : others) {
      new_tokens.push_back({id, std::span(other).first(stepper->length(id) == 0 ? 700 : 1)});
    }
    new_tokens.insert(new_tokens.begin() + static_cast<int64_t>(new_tokens.size() / 2),
                      {sequence, std::span(tokens).subspan(i, 1)});
    const NextTokens found = stepper->next(new_tokens);
    EXPECT_EQ(row_of(found.logits, static_cast<int64_t>((new_tokens.size() - 1) / 2)), expected[i]) << i;
    if (i % 5 == 4) {
      stepper->remove(others.front());
      others.erase(others.begin());
    }
  }
}

TEST_P(StepperOfALanguageModel, ForksAndRollbacksDependOnlyOnTheirTokens) {
  const RandomLanguageModel m(GetParam());
  const auto stepper = make_stepper(*m.inference);
  const Ids tokens = random_tokens(60, 4);
  const SequenceId a = begin(*stepper);
  next(*stepper, a, std::span(tokens).first(40));
  const SequenceId b = stepper->fork(a);
  next(*stepper, b, random_tokens(30, 5));
  stepper->roll_back(b, 33);
  Ids of_b(tokens.begin(), tokens.begin() + 33);
  of_b.push_back(7);
  EXPECT_EQ(next(*stepper, b, std::span(of_b).last(1)), full_logits(m, of_b));
  EXPECT_EQ(next(*stepper, a, std::span(tokens).subspan(40)), full_logits(m, tokens));
}

TEST_P(StepperOfALanguageModel, LocalAttentionIsTheSameWhenPagesAreFreed) {
  const RandomLanguageModel m(GetParam(), 40);
  const auto stepper = make_stepper(*m.inference, {.max_tokens = 1200});
  const Ids tokens = random_tokens(2600, 6);
  const SequenceId sequence = begin(*stepper);
  EXPECT_EQ(next(*stepper, sequence, std::span(tokens).first(2500)),
            full_logits(m, Ids(tokens.begin(), tokens.begin() + 2500)));
  std::vector<float> last;
  for (size_t i = 2500; i < tokens.size(); ++i) {
    last = next(*stepper, sequence, std::span(tokens).subspan(i, 1));
  }
  EXPECT_EQ(last, full_logits(m, tokens));
}

TEST_P(StepperOfALanguageModel, PatternsByLayerAndHeadGiveTheBitsOfAFullPass) {
  const HeadPattern local{HeadPattern::Kind::local, 40}, strided{HeadPattern::Kind::strided, 7};
  for (const std::vector<LayerPattern>& attention :
       std::vector<std::vector<LayerPattern>>{{{local}, {{}}}, {{strided}}, {{local, strided}}}) {
    const RandomLanguageModel m(GetParam(), 0, Positions::rotary, attention);
    const auto stepper = make_stepper(*m.inference);
    const Ids tokens = random_tokens(330, 6);
    EXPECT_EQ(logits_token_by_token(*stepper, tokens, 300), full_logits(m, tokens)) << to_text(attention.front());
  }
}

TEST_P(StepperOfALanguageModel, BlocksOfPublishedModelsGiveTheBitsOfAFullPass) {
  ModelConfig config = small_language_model();
  config.embedding_norm = EmbeddingNorm::present;
  config.logit_cap = 3.0;
  config.attention_cap = 2.0;
  config.value_width = 12;
  for (const HeadNorm norm : {HeadNorm::each_head, HeadNorm::all_heads}) {
    config.head_norm = norm;
    const RandomLanguageModel m(GetParam(), config);
    const auto stepper = make_stepper(*m.inference);
    const Ids tokens = random_tokens(330, 6);
    const std::vector<float> expected = full_logits(m, tokens);
    EXPECT_EQ(logits_token_by_token(*stepper, tokens, 300), expected);
    EXPECT_LT(std::ranges::max(expected), 3.0F);
    config.value_width = 5;
  }
}

TEST_P(StepperOfALanguageModel, ScalesOffsetsAndGainsAboveOneGiveTheBitsOfAFullPass) {
  for (const SinusoidLayout layout : {SinusoidLayout::halves, SinusoidLayout::halves_inclusive}) {
    ModelConfig config = small_language_model();
    config.positions = Positions::sinusoidal;
    config.sinusoid = layout;
    config.position_offset = 2;
    config.attention_scale = 0.4;
    config.output_scale = 0.3;
    config.norm_gain = NormGain::plus_one;
    config.head_norm = HeadNorm::each_head;
    const Ids tokens = random_tokens(330, 6);
    const RandomLanguageModel m(GetParam(), config);
    EXPECT_EQ(logits_token_by_token(*make_stepper(*m.inference), tokens, 300), full_logits(m, tokens));
    config.position_offset = 1;
    const RandomLanguageModel other(GetParam(), config);
    EXPECT_NE(full_logits(other, tokens), full_logits(m, tokens));
  }
}

TEST_P(StepperOfALanguageModel, LayersThatDifferGiveTheBitsOfAFullPass) {
  ModelConfig config = small_language_model();
  config.decoder_layers = 3;
  config.key_value_heads = {1, 4, 2};
  config.inner = {48, 16};
  config.rotary_base = {1e4, 0.0, 1e6};
  config.value_width = 12;
  const Ids tokens = random_tokens(330, 6);
  for (const auto branches : {Branches::sequential, Branches::parallel_own_norms}) {
    config.branches = branches;
    const RandomLanguageModel m(GetParam(), config);
    EXPECT_EQ(logits_token_by_token(*make_stepper(*m.inference), tokens, 300), full_logits(m, tokens));
    ModelConfig first = config;
    first.decoder_layers = 2;
    first.key_value_heads = {1, 4};
    first.rotary_base = {1e4, 0.0};
    const RandomLanguageModel shallow(GetParam(), first);
    const auto stepper = make_stepper(*m.inference, {.layers = 2});
    EXPECT_EQ(next(*stepper, begin(*stepper), tokens), full_logits(shallow, tokens)) << "a draft by the first layers";
  }
  // The sums of linear layers differ in size, too.
  config.attention = {LayerPattern{HeadPattern{HeadPattern::Kind::linear}}};
  config.positions = Positions::none;
  config.rotary_base = 1e4;
  const RandomLanguageModel m(GetParam(), config);
  EXPECT_EQ(logits_token_by_token(*make_stepper(*m.inference), tokens, 190), full_logits(m, tokens));
}

TEST_P(StepperOfALanguageModel, ValueEmbeddingsAndSkipsGiveTheBitsOfAFullPass) {
  ModelConfig config = small_language_model();
  config.decoder_layers = 5;
  config.value_embeddings = {1, 2, 0, 2, 1};
  config.skips = Skips::mirrored;
  config.activation = Activation::relu_squared;
  const Ids tokens = random_tokens(330, 6);
  const RandomLanguageModel m(GetParam(), config);
  EXPECT_EQ(logits_token_by_token(*make_stepper(*m.inference), tokens, 300), full_logits(m, tokens));
  config.skips = Skips::none;
  EXPECT_NE(full_logits(RandomLanguageModel(GetParam(), config), tokens), full_logits(m, tokens));
}

// What was read last is part of a sequence: each token, or a copy, or what is left of it finds the one before it.
TEST_P(StepperOfALanguageModel, BigramsDependOnTheTokensOfTheirSequenceAlone) {
  ModelConfig config = small_language_model();
  config.bigrams = 50;
  const Ids tokens = random_tokens(330, 6);
  const RandomLanguageModel m(GetParam(), config);
  EXPECT_EQ(logits_token_by_token(*make_stepper(*m.inference), tokens, 300), full_logits(m, tokens));

  const auto stepper = make_stepper(*m.inference);
  const SequenceId a = begin(*stepper);
  next(*stepper, a, std::span(tokens).first(100));
  const SequenceId b = stepper->fork(a);
  next(*stepper, b, std::span(tokens).subspan(200, 30));
  stepper->roll_back(b, 90);
  EXPECT_EQ(next(*stepper, b, std::span(tokens).subspan(90)), full_logits(m, tokens));
  stepper->remove(b);
  EXPECT_EQ(next(*stepper, a, std::span(tokens).subspan(100)), full_logits(m, tokens));

  config.bigrams = 0;
  EXPECT_NE(full_logits(RandomLanguageModel(GetParam(), config), tokens), full_logits(m, tokens));
}

const LayerPattern kFullLayer{HeadPattern{}}, kLinearLayer{HeadPattern{HeadPattern::Kind::linear}},
    kLocalLayer{HeadPattern{HeadPattern::Kind::local, 40}};
const std::vector<LayerPattern> kLinear{kLinearLayer};
const std::vector<std::vector<LayerPattern>> kLinearAndOthers{
    kLinear, {kLinearLayer, kLocalLayer}, {kFullLayer, kLinearLayer}};

TEST_P(StepperOfALanguageModel, LinearAttentionInStepsGivesTheBitsOfAFullPass) {
  for (const auto& attention : kLinearAndOthers) {
    const RandomLanguageModel m(GetParam(), 0, Positions::sinusoidal, attention);
    const auto stepper = make_stepper(*m.inference);
    const Ids tokens = random_tokens(1300, 6);
    const SequenceId sequence = begin(*stepper);
    size_t done = 0;
    for (const size_t step : {size_t{3}, size_t{61}, size_t{1}, size_t{1100}, size_t{64}}) {
      const std::vector<float> found = next(*stepper, sequence, std::span(tokens).subspan(done, step));
      done += step;
      EXPECT_EQ(found, full_logits(m, Ids(tokens.begin(), tokens.begin() + static_cast<int64_t>(done)))) << done;
    }
    std::vector<float> last;
    for (; done < tokens.size(); ++done) {
      last = next(*stepper, sequence, std::span(tokens).subspan(done, 1));
    }
    EXPECT_EQ(last, full_logits(m, tokens));
  }
}

// Forks share their sums until one of them grows; the tokens of the last step can be dropped, and where a layer keeps
// all keys, any.
TEST_P(StepperOfALanguageModel, ForksAndRollbacksOfLinearAttentionDependOnlyOnTheirTokens) {
  for (const auto& attention : kLinearAndOthers) {
    const RandomLanguageModel m(GetParam(), 0, Positions::sinusoidal, attention);
    const auto stepper = make_stepper(*m.inference);
    const Ids tokens = random_tokens(400, 4), others = random_tokens(300, 5);
    const SequenceId a = begin(*stepper);
    next(*stepper, a, std::span(tokens).first(130));
    next(*stepper, a, std::span(tokens).subspan(130, 1));
    const SequenceId b = stepper->fork(a), c = stepper->fork(a);
    next(*stepper, b, others);
    stepper->roll_back(b, 131 + 70);
    stepper->remove(c);
    Ids of_b(tokens.begin(), tokens.begin() + 131);
    of_b.insert(of_b.end(), others.begin(), others.begin() + 70);
    of_b.push_back(7);
    EXPECT_EQ(next(*stepper, b, std::span(of_b).last(1)), full_logits(m, of_b));
    EXPECT_EQ(next(*stepper, a, std::span(tokens).subspan(131)), full_logits(m, tokens));
    const bool keeps_all = m.model->config().cached_window() == 0;
    if (keeps_all) {
      stepper->roll_back(a, 100);
      EXPECT_EQ(next(*stepper, a, std::span(tokens).subspan(100)), full_logits(m, tokens));
    } else {
      EXPECT_THROW(stepper->roll_back(a, 100), ShapeError);
      EXPECT_EQ(stepper->length(a), 400);
    }
  }
}

TEST_P(StepperOfALanguageModel, LinearAttentionMayHaveValuesOfAnotherWidth) {
  ModelConfig config = small_language_model();
  config.positions = Positions::sinusoidal;
  config.attention = kLinear;
  for (const int64_t width : {12, 5}) {
    config.value_width = width;
    const RandomLanguageModel m(GetParam(), config);
    const Ids tokens = random_tokens(330, 6);
    EXPECT_EQ(logits_token_by_token(*make_stepper(*m.inference), tokens, 190), full_logits(m, tokens)) << width;
  }
}

TEST_P(StepperOfALanguageModel, LinearAttentionMayHaveFeaturesOfExp) {
  ModelConfig config = small_language_model();
  config.positions = Positions::sinusoidal;
  config.attention = kLinear;
  config.linear_feature = LinearFeature::exp;
  const RandomLanguageModel m(GetParam(), config);
  const Ids tokens = random_tokens(330, 6);
  EXPECT_EQ(logits_token_by_token(*make_stepper(*m.inference), tokens, 190), full_logits(m, tokens));
}

TEST_P(StepperOfALanguageModel, MemoryOfLinearAttentionDoesNotGrowWithTheText) {
  const RandomLanguageModel m(GetParam(), 0, Positions::none, kLinear);
  // Room for what a pass of 1024 tokens needs, and a chunk.
  const auto stepper = make_stepper(*m.inference, {.max_tokens = 1024 + 96});
  const Ids tokens = random_tokens(2999, 7);
  EXPECT_EQ(logits_token_by_token(*stepper, tokens, 2900), full_logits(m, tokens));
  const SequenceId second = begin(*stepper);
  EXPECT_THROW(next(*stepper, second, std::span(tokens).first(2900)), BudgetError);
  EXPECT_EQ(stepper->length(second), 0);
}

// What drafts live on: the rows of several tokens are those of the tokens one by one, beside others, and what is rolled
// back leaves no trace, also where pages are freed or summed.
TEST_P(StepperOfALanguageModel, RunsOfTokensGiveTheRowsOfSingleSteps) {
  const std::vector<std::vector<LayerPattern>> attention{
      {{{}}}, {{{HeadPattern::Kind::local, 20}}}, {{{HeadPattern::Kind::linear}}}};
  for (const auto& pattern : attention) {
    const RandomLanguageModel m(GetParam(), 0, Positions::sinusoidal, pattern);
    const Ids tokens = random_tokens(230, 14), wrong = random_tokens(9, 15), other = random_tokens(230, 16);
    const auto plain = make_stepper(*m.inference), drafted = make_stepper(*m.inference, {.roll_back = 9});
    const SequenceId single = begin(*plain), a = begin(*drafted), b = begin(*drafted);
    next(*plain, single, std::span(tokens).first(60));
    next(*drafted, a, std::span(tokens).first(60));
    next(*drafted, b, std::span(other).first(50));
    for (size_t done = 60, run = 1; done + run <= tokens.size(); run = run % 7 + 1) {
      // First single tokens that are dropped again, as a drafter does.
      for (size_t k = 0; k < run; ++k) {
        next(*drafted, a, std::span(wrong).subspan(k, 1));
      }
      drafted->roll_back(a, static_cast<int64_t>(done));
      // Then a run of which the end is wrong.
      Ids with_wrong(tokens.begin() + static_cast<int64_t>(done), tokens.begin() + static_cast<int64_t>(done + run));
      with_wrong.insert(with_wrong.end(), wrong.begin(), wrong.begin() + static_cast<int64_t>(9 - run));
      const std::vector<NewTokens> new_tokens{{b, std::span(other).subspan(done - 10, run), RowsWanted::all},
                                              {a, with_wrong, RowsWanted::all}};
      const NextTokens rows = drafted->next(new_tokens);
      for (size_t k = 0; k < run; ++k) {
        ASSERT_EQ(row_of(rows.logits, static_cast<int64_t>(run + k)),
                  next(*plain, single, std::span(tokens).subspan(done + k, 1)))
            << done << " " << k;
      }
      done += run;
      drafted->roll_back(a, static_cast<int64_t>(done));
    }
  }
}

TEST_P(StepperOfALanguageModel, TheFirstLayersAreAModelOfTheirOwn) {
  const RandomLanguageModel m(GetParam());
  ModelConfig config = small_language_model();
  config.decoder_layers = 1;
  const RandomLanguageModel shallow(GetParam(), config);  // with the same weights
  const Ids tokens = random_tokens(40, 17);
  const auto stepper = make_stepper(*m.inference, {.layers = 1});
  EXPECT_EQ(next(*stepper, begin(*stepper), tokens), full_logits(shallow, tokens));
  EXPECT_THROW(make_stepper(*m.inference, {.layers = 3}), ConfigError);
}

TEST_P(StepperOfALanguageModel, LogProbabilitiesAreThoseOfTheLogits) {
  const RandomLanguageModel m(GetParam());
  const auto stepper = make_stepper(*m.inference);
  const Ids tokens = random_tokens(5, 8);
  const std::vector<NewTokens> new_tokens{{begin(*stepper), tokens, RowsWanted::all}};
  const NextTokens found = stepper->next(new_tokens);
  ASSERT_EQ(found.log_probs.rows, 5);
  for (int64_t row = 0; row < 5; ++row) {
    double sum = 0.0;
    for (int64_t c = 0; c < kVocabulary; ++c) {
      sum += std::exp(static_cast<double>(found.logits(row, c)));
    }
    for (int64_t c = 0; c < kVocabulary; ++c) {
      EXPECT_NEAR(found.log_probs(row, c), static_cast<double>(found.logits(row, c)) - std::log(sum), 1e-5);
    }
  }
}

TEST_P(StepperOfALanguageModel, LogitsAreGivenWhereOneSequenceWantsThem) {
  const RandomLanguageModel m(GetParam());
  const auto stepper = make_stepper(*m.inference);
  for (const size_t length : {size_t{5}, size_t{1100}}) {  // in one pass, and in two
    const Ids tokens = random_tokens(length, 8);
    const auto next = [&](ScoresWanted first, ScoresWanted second) {
      const std::vector<NewTokens> new_tokens{{begin(*stepper), tokens, RowsWanted::last, first},
                                              {begin(*stepper), tokens, RowsWanted::last, second}};
      return stepper->next(new_tokens);
    };
    const std::vector<float> expected = row_of(next(ScoresWanted::logits_too, ScoresWanted::log_probs).log_probs, 1);
    EXPECT_EQ(next(ScoresWanted::logits_too, ScoresWanted::log_probs).logits.rows, 2);
    const NextTokens without = next(ScoresWanted::log_probs, ScoresWanted::log_probs);
    EXPECT_EQ(without.logits.rows, 0);
    ASSERT_EQ(without.log_probs.rows, 2);
    EXPECT_EQ(row_of(without.log_probs, 1), expected);
  }
}

TEST_P(StepperOfALanguageModel, AllRowsOfSeveralPassesAreThoseOfAFullPass) {
  const RandomLanguageModel m(GetParam());
  const auto stepper = make_stepper(*m.inference);
  const Ids first = random_tokens(1500, 12), second = random_tokens(900, 13);
  const std::vector<NewTokens> new_tokens{
      {begin(*stepper), first, RowsWanted::all}, {begin(*stepper), first}, {begin(*stepper), second, RowsWanted::all}};
  const NextTokens found = stepper->next(new_tokens);
  ASSERT_EQ(found.logits.rows, 1500 + 1 + 900);
  Pass pass = Pass::infer(*m.backend, m.inference->storage);
  const CausalLM& model = m.model->causal_lm();
  const Logits logits = model.logits(pass, model.hidden(pass, Sequences({first, second})));
  const auto expected = host<float>(logits.var().value());
  for (int64_t row = 0; row < found.logits.rows; ++row) {
    const int64_t of_full_pass = row < 1500 ? row : row - 1;  // the second sequence's last row is the first's
    ASSERT_EQ(row_of(found.logits, row), row_of(expected, of_full_pass)) << row;
    double sum = 0.0;
    for (int64_t c = 0; c < kVocabulary; ++c) {
      sum += std::exp(static_cast<double>(found.log_probs(row, c)));
    }
    ASSERT_NEAR(sum, 1.0, 1e-4) << row;
    ASSERT_NEAR(found.log_probs(row, 3) - found.log_probs(row, 4), found.logits(row, 3) - found.logits(row, 4), 1e-4)
        << row;
  }
}

TEST_P(StepperOfALanguageModel, ExceedingTheBudgetChangesNoSequence) {
  const RandomLanguageModel m(GetParam());
  const Ids tokens = random_tokens(2000, 9);
  // One pass, and several, of which the first would find room.
  for (const auto& [budget, count] : {std::pair(640, size_t{300}), std::pair(1600, size_t{1950})}) {
    const auto stepper = make_stepper(*m.inference, {.max_tokens = budget});
    const SequenceId a = begin(*stepper), b = begin(*stepper);
    next(*stepper, a, std::span(tokens).first(50));
    const std::vector<NewTokens> new_tokens{{a, std::span(tokens).subspan(50, count)},
                                            {b, std::span(tokens).first(600)}};
    EXPECT_THROW(stepper->next(new_tokens), BudgetError);
    EXPECT_EQ(stepper->length(a), 50);
    EXPECT_EQ(stepper->length(b), 0);
    EXPECT_EQ(next(*stepper, a, std::span(tokens).subspan(50, 10)),
              full_logits(m, Ids(tokens.begin(), tokens.begin() + 60)));
  }
}

TEST_P(StepperOfALanguageModel, RefusesWhatItCannotContinue) {
  const RandomLanguageModel m(GetParam());
  const auto stepper = make_stepper(*m.inference);
  EXPECT_THROW(stepper->begin({{Ids{1}}}), ShapeError);
  const SequenceId sequence = begin(*stepper);
  EXPECT_THROW(next(*stepper, sequence, {}), ShapeError);
  const Ids one{1};
  const std::vector<NewTokens> one_without{{sequence, {}}, {begin(*stepper), one}};
  EXPECT_THROW(stepper->next(one_without), ShapeError);
  EXPECT_THROW(next(*stepper, sequence, random_tokens(3001, 1)), ShapeError);
  stepper->remove(sequence);
  EXPECT_THROW(next(*stepper, sequence, Ids{1}), ShapeError);
}

TEST_P(StepperOfALanguageModel, BeamSearchWorksWithIt) {
  const RandomLanguageModel m(GetParam());
  const Ids prompt = random_tokens(9, 10), another = random_tokens(4, 11);
  const TranslationOptions options{.beam = 3, .length_penalty = 0.0, .n_best = 3};
  const SearchRules rules{.at_limit = AtLimit::cut};
  const auto found_with = [&](const std::vector<Ids>& prompts) {
    const auto stepper = make_stepper(*m.inference);
    const Sampler greedy({.temperature = 0.0}, {});
    std::deque<SearchRequest> searches;
    std::vector<Request*> requests;
    for (const Ids& tokens : prompts) {
      requests.push_back(&searches.emplace_back(SearchTask{{}, tokens, 6}, options, rules, greedy));
    }
    run_together(*stepper, requests);
    std::vector<std::vector<Hypothesis>> found;
    std::ranges::transform(searches, std::back_inserter(found), &SearchRequest::results);
    return found;
  };
  const auto alone = found_with({prompt}).front(), beside = found_with({another, prompt}).back();
  ASSERT_EQ(alone.size(), 3U);
  for (size_t h = 0; h < 3; ++h) {
    EXPECT_EQ(alone[h].tokens, beside[h].tokens);
    EXPECT_EQ(alone[h].log_probability, beside[h].log_probability);
    EXPECT_EQ(alone[h].cut_off, alone[h].tokens.size() == 6);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, StepperOfALanguageModel, testing::Values(DType::f32, DType::bf16),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

}  // namespace
}  // namespace heed
