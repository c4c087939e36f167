// How a budget of C floating-point operations is best divided between parameters N and training tokens D, where
// C = 6 N D.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace heed {

// L(N, D) = E + A / N^alpha + B / D^beta: the irreducible loss, what a finite model adds, what a finite text adds.
struct LossSurface {
  double e, a, b, alpha, beta;

  double loss(double parameters, double tokens) const;

  // The N of the minimum of L on 6 N D = C:
  //   N = G (C / 6)^(beta / (alpha + beta)),   G = (alpha A / (beta B))^(1 / (alpha + beta))
  // and with it D = C / (6 N) = (C / 6)^(alpha / (alpha + beta)) / G.
  double optimal_parameters(double flops) const;
};

// Hoffmann et al. 2022 (arXiv:2203.15556), approach 3, rounded as in appendix D.3.
inline constexpr LossSurface kPublishedSurface{1.69, 406.4, 410.7, 0.34, 0.28};
// The digits in that paper's TeX source, which Besiroglu et al. quote.
inline constexpr LossSurface kUnroundedSurface{1.6934, 406.4, 410.7, 0.3392, 0.2849};
// Besiroglu et al. 2024 (arXiv:2404.10102): approach 3 again, on the points read off the first paper's figure 4.
inline constexpr LossSurface kCorrectedSurface{1.8172, 482.01, 2085.43, 0.3478, 0.3658};

// A model size and the budget for which it is the best one.
struct FrontierPoint {
  double parameters, flops;
};

// N = k C^exponent, for methods that find the best sizes without a model of the loss.
struct Frontier {
  double exponent;
  std::span<const FrontierPoint> points;

  // k is the geometric mean over the points.
  double optimal_parameters(double flops) const;
};

// Hoffmann et al.: exponents from table 2, points from table 3 (approach 1, minima over training curves) and table A3
// (approach 2, profiles of equal FLOPs).
extern const Frontier kTrainingCurves;
extern const Frontier kIsoFlopProfiles;

constexpr double tokens_for(double flops, double parameters) { return flops / (6.0 * parameters); }

struct ScalingLaw {
  std::string_view name;
  std::function<double(double flops)> optimal_parameters;
};

// The laws that a plan compares.
const std::vector<ScalingLaw>& scaling_laws();

}  // namespace heed
