#include "plan/scaling_laws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/errors.h"
#include "plan/plan.h"

namespace heed {
namespace {

constexpr double kGopherFlops = 5.76e23;

// The N with the lowest loss on 6 N D = C, by narrowing an interval of log N: the loss is convex there.
double minimize(const LossSurface& surface, double flops) {
  const auto loss = [&](double log_n) {
    const double n = std::exp(log_n);
    return surface.loss(n, tokens_for(flops, n));
  };
  const double golden = (std::sqrt(5.0) - 1.0) / 2.0;
  double low = std::log(1.0), high = std::log(flops / 6.0);
  while (high - low > 1e-7) {
    const double a = high - golden * (high - low), b = low + golden * (high - low);
    (loss(a) < loss(b) ? high : low) = loss(a) < loss(b) ? b : a;
  }
  return std::exp((low + high) / 2.0);
}

TEST(LossSurface, TheClosedFormIsTheMinimumThatASearchFinds) {
  for (const LossSurface& surface : {kPublishedSurface, kUnroundedSurface, kCorrectedSurface}) {
    for (const double flops : {1e12, 1e15, 1e18, 1e21, 1e24, 1e27}) {
      EXPECT_NEAR(surface.optimal_parameters(flops) / minimize(surface, flops), 1.0, 1e-4) << flops;
    }
  }
}

TEST(LossSurface, ParametersAndTokensUseTheWholeBudgetAndGrowWithTheStatedExponents) {
  for (const LossSurface& s : {kPublishedSurface, kCorrectedSurface}) {
    const double n = s.optimal_parameters(1e20), d = tokens_for(1e20, n);
    EXPECT_NEAR(6.0 * n * d, 1e20, 1e8);
    const double g = std::pow(s.alpha * s.a / (s.beta * s.b), 1.0 / (s.alpha + s.beta));
    EXPECT_NEAR(d * g / std::pow(1e20 / 6.0, s.alpha / (s.alpha + s.beta)), 1.0, 1e-9);
    EXPECT_NEAR(std::log10(s.optimal_parameters(1e21) / n), s.beta / (s.alpha + s.beta), 1e-9);
  }
}

TEST(LossSurface, RoundingThePublishedDigitsMovesTheOptimumByAFifth) {
  // The paper's text says 40 billion parameters for the budget of Gopher by this approach.
  EXPECT_NEAR(kUnroundedSurface.optimal_parameters(kGopherFlops), 40e9, 1e9);
  EXPECT_NEAR(kPublishedSurface.optimal_parameters(kGopherFlops), 32e9, 1e9);
}

TEST(LossSurface, TheCorrectedFitAgreesWithTwentyTokensPerParameterAndThePublishedOneDoesNot) {
  const auto tokens_per_parameter = [](const LossSurface& surface) {
    const double n = surface.optimal_parameters(kGopherFlops);
    return tokens_for(kGopherFlops, n) / n;
  };
  EXPECT_NEAR(tokens_per_parameter(kCorrectedSurface), 20.0, 5.0);
  EXPECT_GT(tokens_per_parameter(kPublishedSurface), 60.0);
}

TEST(Frontier, EachRowOfThePublishedTablesIsReproduced) {
  for (const Frontier* frontier : {&kTrainingCurves, &kIsoFlopProfiles}) {
    ASSERT_EQ(frontier->points.size(), 9U);
    for (const FrontierPoint& point : frontier->points) {
      EXPECT_NEAR(frontier->optimal_parameters(point.flops) / point.parameters, 1.0, 0.05) << point.parameters;
    }
  }
}

TEST(ComputeOptima, EveryLawSpendsTheBudgetAndHasAName) {
  const std::vector<ComputeOptimum> optima = compute_optima(kGopherFlops);
  ASSERT_EQ(optima.size(), 5U);
  for (const ComputeOptimum& optimum : optima) {
    EXPECT_FALSE(optimum.law.empty());
    EXPECT_NEAR(6.0 * optimum.parameters * optimum.tokens / kGopherFlops, 1.0, 1e-12) << optimum.law;
    EXPECT_GE(optimum.loss, optima[1].loss) << optimum.law;  // which is least by the surface that all are compared on
  }
  EXPECT_NEAR(optima[2].parameters, 67e9, 3e9);
  EXPECT_NEAR(optima[4].tokens / optima[4].parameters, 20.0, 1e-9);
}

TEST(ComputeOptima, ABudgetThatIsNotPositiveIsRefused) {
  for (const double flops : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(compute_optima(flops), ConfigError) << flops;
  }
}

}  // namespace
}  // namespace heed
