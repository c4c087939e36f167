#include "decode/sampling/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/errors.h"

namespace heed {
namespace {

using testing::HasSubstr;

constexpr int kDraws = 20000;

// How often each token was drawn, at positions 0, 1, ...
std::vector<int> drawn(const SamplingOptions& options, const std::vector<float>& logits, const TokenCounts& counts = {},
                       const std::vector<int32_t>& suppressed = {}, uint64_t draws = kDraws) {
  const Sampler sampler(options, {.suppressed = suppressed});
  SamplingMemory memory;
  std::vector<int> found(logits.size());
  for (uint64_t position = 0; position < draws; ++position) {
    ++found[static_cast<size_t>(sampler.sample(logits, counts, {RandomKey{17}, position}, memory))];
  }
  return found;
}

// Pearson's statistic against the distribution proportional to `weights`; a token of weight 0 must not be drawn. With 3
// degrees of freedom or fewer, 25 is exceeded once in 60,000 times.
double chi_squared(const std::vector<int>& found, const std::vector<double>& weights) {
  double total = 0.0, statistic = 0.0;
  for (const double weight : weights) {
    total += weight;
  }
  for (size_t token = 0; token < weights.size(); ++token) {
    const double expected = kDraws * weights[token] / total;
    if (weights[token] == 0.0) {
      EXPECT_EQ(found[token], 0) << token;
    } else {
      statistic += (found[token] - expected) * (found[token] - expected) / expected;
    }
  }
  return statistic;
}

std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) {
    logits.push_back(static_cast<float>(std::log(p) + 3.0));
  }
  return logits;
}

const std::vector<double> kProbabilities{0.1, 0.4, 0.2, 0.3};
const std::vector<float> kLogits = logits_of(kProbabilities);

TEST(Sampling, DrawsInProportionToTheProbabilities) {
  EXPECT_LT(chi_squared(drawn({}, kLogits), kProbabilities), 25.0);
  EXPECT_GT(chi_squared(drawn({}, kLogits), {0.12, 0.38, 0.2, 0.3}), 25.0) << "the test can tell";
}

TEST(Sampling, TemperatureFlattensAndSharpens) {
  for (const double temperature : {0.5, 2.0}) {
    std::vector<double> weights;
    for (const double p : kProbabilities) {
      weights.push_back(std::pow(p, 1.0 / temperature));
    }
    EXPECT_LT(chi_squared(drawn({.temperature = temperature}, kLogits), weights), 25.0) << temperature;
  }
  EXPECT_EQ(drawn({.temperature = 0.0}, kLogits)[1], kDraws);
  EXPECT_EQ(drawn({.temperature = 0.0}, {2.0F, 5.0F, 5.0F})[1], kDraws) << "of equals the first";
  EXPECT_EQ(drawn({.temperature = 1e-300}, kLogits)[1], kDraws);
}

TEST(Sampling, TopKKeepsTheLikeliest) {
  EXPECT_LT(chi_squared(drawn({.top_k = 2}, kLogits), {0, 0.4, 0, 0.3}), 25.0);
  EXPECT_EQ(drawn({.top_k = 1}, kLogits)[1], kDraws);
  EXPECT_LT(chi_squared(drawn({.top_k = 100}, kLogits), kProbabilities), 25.0);
}

TEST(Sampling, TheNucleusIncludesTheTokenThatCrossesP) {
  EXPECT_LT(chi_squared(drawn({.top_p = 0.65}, kLogits), {0, 0.4, 0, 0.3}), 25.0);
  EXPECT_LT(chi_squared(drawn({.top_p = 0.75}, kLogits), {0, 0.4, 0.2, 0.3}), 25.0);
  EXPECT_LT(chi_squared(drawn({.top_p = 1.0}, kLogits), kProbabilities), 25.0);
  EXPECT_EQ(drawn({.top_p = 1e-9}, kLogits)[1], kDraws);
  // After the temperature: the likeliest alone has 0.53 of the squared probabilities.
  EXPECT_EQ(drawn({.temperature = 0.5, .top_p = 0.5}, kLogits)[1], kDraws);
  // A share of what top-k kept: 0.4 / 0.7 is 0.57.
  EXPECT_EQ(drawn({.top_k = 2, .top_p = 0.55}, kLogits)[1], kDraws);
}

TEST(Sampling, TheNucleusOfALargeVocabularyHasTheFirstOfEqualTokens) {
  // 1,000 tokens of equal probability: the first ones win.
  const std::vector<float> logits(1000, 1.0F);
  const std::vector<int> found = drawn({.top_p = 0.3005}, logits, {}, {}, 4000);
  for (size_t token = 0; token < 1000; ++token) {
    EXPECT_EQ(found[token] > 0, token < 301) << token;
  }
}

TEST(Sampling, MinPIsAShareOfTheLargest) {
  EXPECT_LT(chi_squared(drawn({.min_p = 0.6}, kLogits), {0, 0.4, 0, 0.3}), 25.0);
  EXPECT_LT(chi_squared(drawn({.min_p = 0.45}, kLogits), {0, 0.4, 0.2, 0.3}), 25.0);
  EXPECT_EQ(drawn({.min_p = 1.0}, kLogits)[1], kDraws);
}

TEST(Sampling, TheNucleusIsTakenBeforeMinP) {
  // By min-p first, 0.4 and 0.3 would reach three quarters of what is left.
  EXPECT_LT(chi_squared(drawn({.top_p = 0.75, .min_p = 0.45}, kLogits), {0, 0.4, 0.2, 0.3}), 25.0);
}

TEST(Sampling, PenaltiesChangeTheLogitsOfTokensThatOccurred) {
  TokenCounts counts;
  counts.add_prompt(std::vector<int32_t>{0, 3});
  counts.add_written(1);
  counts.add_written(1);
  counts.add_written(3);
  const std::vector<float> logits{1.0F, 2.0F, 0.5F, -1.0F};
  // Divided where positive, multiplied where negative; token 2 does not occur.
  EXPECT_LT(chi_squared(drawn({.repetition_penalty = 2.0}, logits, counts),
                        {std::exp(0.5), std::exp(1.0), std::exp(0.5), std::exp(-2.0)}),
            25.0);
  // For generated tokens: the presence penalty once, the frequency penalty each time.
  EXPECT_LT(chi_squared(drawn({.presence_penalty = 0.7}, logits, counts),
                        {std::exp(1.0), std::exp(1.3), std::exp(0.5), std::exp(-1.7)}),
            25.0);
  EXPECT_LT(chi_squared(drawn({.frequency_penalty = 0.7}, logits, counts),
                        {std::exp(1.0), std::exp(0.6), std::exp(0.5), std::exp(-1.7)}),
            25.0);
}

// Before penalties: a bias may change a logit's sign.
TEST(Sampling, BiasesAreAddedBeforePenalties) {
  TokenCounts counts;
  counts.add_written(1);
  const std::vector<float> logits{1.0F, 2.0F, 0.5F, -1.0F};
  const std::vector<TokenBias> biases{{1, -3.0}, {3, 1.5}};
  EXPECT_LT(chi_squared(drawn({.logit_bias = biases}, logits, counts),
                        {std::exp(1.0), std::exp(-1.0), std::exp(0.5), std::exp(0.5)}),
            25.0);
  EXPECT_LT(chi_squared(drawn({.repetition_penalty = 2.0, .logit_bias = biases}, logits, counts),
                        {std::exp(1.0), std::exp(-2.0), std::exp(0.5), std::exp(0.5)}),
            25.0);
  EXPECT_EQ(drawn({.temperature = 0.0, .logit_bias = biases}, logits, counts)[0], kDraws);
  EXPECT_EQ(drawn({.temperature = 0.0, .logit_bias = {{2, 100.0}}}, logits, {}, {2})[1], kDraws);
}

TEST(Sampling, TheModelsLogitsAreNotChanged) {
  std::vector<float> logits = kLogits;
  TokenCounts counts;
  counts.add_written(1);
  drawn({.temperature = 0.7, .top_k = 3, .top_p = 0.9, .min_p = 0.1, .repetition_penalty = 1.3}, logits, counts);
  EXPECT_EQ(logits, kLogits);
}

TEST(Sampling, SuppressedTokensAreNeverDrawn) {
  EXPECT_LT(chi_squared(drawn({}, kLogits, {}, {1, 99}), {0.1, 0, 0.2, 0.3}), 25.0);
  EXPECT_EQ(drawn({.temperature = 0.0}, kLogits, {}, {1})[3], kDraws);
  const float nothing = -std::numeric_limits<float>::infinity();
  EXPECT_LT(chi_squared(drawn({}, {nothing, kLogits[1], nothing, kLogits[3]}), {0, 0.4, 0, 0.3}), 25.0);
}

// A penalty of tokens that do not occur changes nothing, but lists all candidates.
TEST(Sampling, WithoutTemperatureTheBestTokenIsTheFirstOfAllCandidates) {
  SamplingMemory memory;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto draw = [&](uint64_t place) { return uniform_draw(RandomKey{seed}, place); };
    std::vector<float> logits;
    for (uint64_t token = 0; token < 50 + seed; ++token) {
      const double place = draw(token);
      // Many ties, and some that are no numbers.
      logits.push_back(place < 0.05   ? std::numeric_limits<float>::quiet_NaN()
                       : place < 0.15 ? -std::numeric_limits<float>::infinity()
                                      : static_cast<float>(std::floor(20.0 * place) - 10.0));
    }
    std::vector<int32_t> suppressed;
    for (uint64_t i = 0; i < seed % 30; ++i) {
      suppressed.push_back(static_cast<int32_t>(draw(1000 + i) * static_cast<double>(logits.size())));
    }
    const Sampler best({.temperature = 0.0}, {.suppressed = suppressed});
    const Sampler listing({.temperature = 0.0, .presence_penalty = 1.0}, {.suppressed = suppressed});
    EXPECT_EQ(best.sample(logits, {}, {RandomKey{1}, 0}, memory),
              listing.sample(logits, {}, {RandomKey{1}, 0}, memory));
  }
}

TEST(Sampling, DrawsDependOnlyOnKeyAndPosition) {
  const Sampler sampler({}, {});
  SamplingMemory memory;
  std::set<std::vector<int32_t>> texts;
  for (uint64_t key = 0; key < 20; ++key) {
    std::vector<int32_t> forwards, backwards;
    for (uint64_t position = 0; position < 30; ++position) {
      forwards.push_back(sampler.sample(kLogits, {}, {RandomKey{key}, position}, memory));
      backwards.insert(backwards.begin(), sampler.sample(kLogits, {}, {RandomKey{key}, 29 - position}, memory));
    }
    EXPECT_EQ(forwards, backwards);
    texts.insert(forwards);
  }
  EXPECT_EQ(texts.size(), 20U);
}

TEST(Sampling, NaNLogitsAreRefused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(drawn({}, {nan, nan}), FormatError);
  EXPECT_THROW(drawn({.temperature = 0.0}, {nan, nan}), FormatError);
  EXPECT_THROW(drawn({}, {1.0F, std::numeric_limits<float>::infinity()}), FormatError);
}

TEST(Sampling, OptionsThatMakeNoSenseAreNamed) {
  const double nan = std::nan("");
  const std::vector<std::pair<SamplingOptions, std::string>> cases{
      {{.temperature = -0.1}, "temperature is -0.1"},
      {{.temperature = nan}, "temperature is nan"},
      {{.temperature = 1e40}, "temperature is 1e+40, expected 0 to 1000"},
      {{.top_k = -1}, "top-k is -1"},
      {{.top_p = 0.0}, "top-p is 0"},
      {{.top_p = 1.01}, "top-p is 1.01"},
      {{.top_p = nan}, "top-p is nan"},
      {{.min_p = -0.5}, "min-p is -0.5"},
      {{.repetition_penalty = 0.0}, "repetition penalty is 0"},
      {{.repetition_penalty = 1e-308}, "repetition penalty is 1e-308, expected 0.001 to 1000"},
      {{.repetition_penalty = 1e30}, "repetition penalty is 1e+30"},
      {{.presence_penalty = nan}, "presence penalty"},
      {{.presence_penalty = -1e30}, "presence penalty is -1e+30, expected -1000 to 1000"},
      {{.frequency_penalty = nan}, "frequency penalty"},
      {{.frequency_penalty = -1e308}, "frequency penalty is -1e+308, expected -1000 to 1000"},
      {{.logit_bias = {{7, nan}}}, "logit bias: of token 7 is nan, expected -100 to 100"},
      {{.logit_bias = {{7, 100.5}}}, "of token 7 is 100.5"},
      {{.logit_bias = {{7, 1.0}, {8, 1.0}, {7, 2.0}}}, "token 7 has two"}};
  for (const auto& [options, message] : cases) {
    try {
      validate(options);
      ADD_FAILURE() << "expected: " << message;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }
  EXPECT_NO_THROW(validate(SamplingOptions{}));
}

TEST(Sampling, TheMostExtremeOptionsDrawAToken) {
  TokenCounts counts;
  counts.add_prompt(std::vector<int32_t>{0, 1});
  for (int i = 0; i < 1000; ++i) {
    counts.add_written(1);
  }
  const std::vector<SamplingOptions> extremes{{.temperature = 1000.0},
                                              {.temperature = 1e-320},
                                              {.top_p = 1e-320},
                                              {.min_p = 1e-320},
                                              {.repetition_penalty = 0.001},
                                              {.repetition_penalty = 1000.0},
                                              {.presence_penalty = -1000.0},
                                              {.frequency_penalty = 1000.0},
                                              {.frequency_penalty = -1000.0}};
  for (const SamplingOptions& options : extremes) {
    EXPECT_NO_THROW(validate(options));
    EXPECT_NO_THROW(drawn(options, {-1e30F, 1e30F, 0.0F}, counts, {}, 100));
  }
}

}  // namespace
}  // namespace heed
