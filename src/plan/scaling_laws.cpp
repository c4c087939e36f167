#include "plan/scaling_laws.h"

#include <array>
#include <cmath>

#include "base/errors.h"
#include "plan/plan.h"

namespace heed {
namespace {

constexpr double kTokensPerParameter = 20.0;
constexpr double kLargestBudget = 1e60;  // FLOPs

constexpr std::array<FrontierPoint, 9> kTable3{{{400e6, 1.92e19},
                                                {1e9, 1.21e20},
                                                {10e9, 1.23e22},
                                                {67e9, 5.76e23},
                                                {175e9, 3.85e24},
                                                {280e9, 9.90e24},
                                                {520e9, 3.43e25},
                                                {1e12, 1.27e26},
                                                {10e12, 1.30e28}}};
constexpr std::array<FrontierPoint, 9> kTableA3{{{400e6, 1.84e19},
                                                 {1e9, 1.20e20},
                                                 {10e9, 1.32e22},
                                                 {67e9, 6.88e23},
                                                 {175e9, 4.54e24},
                                                 {280e9, 1.18e25},
                                                 {520e9, 4.19e25},
                                                 {1e12, 1.59e26},
                                                 {10e12, 1.75e28}}};

}  // namespace

const Frontier kTrainingCurves{0.50, kTable3};
const Frontier kIsoFlopProfiles{0.49, kTableA3};

double LossSurface::loss(double parameters, double tokens) const {
  return e + a / std::pow(parameters, alpha) + b / std::pow(tokens, beta);
}

double LossSurface::optimal_parameters(double flops) const {
  const double g = std::pow(alpha * a / (beta * b), 1.0 / (alpha + beta));
  return g * std::pow(flops / 6.0, beta / (alpha + beta));
}

double Frontier::optimal_parameters(double flops) const {
  double log_k = 0.0;
  for (const FrontierPoint& point : points) {
    log_k += std::log(point.parameters) - exponent * std::log(point.flops);
  }
  return std::exp(log_k / static_cast<double>(points.size())) * std::pow(flops, exponent);
}

const std::vector<ScalingLaw>& scaling_laws() {
  static const std::vector<ScalingLaw> kLaws{
      {"fitted loss, as published", [](double flops) { return kPublishedSurface.optimal_parameters(flops); }},
      {"fitted loss, corrected", [](double flops) { return kCorrectedSurface.optimal_parameters(flops); }},
      {"minima over training curves", [](double flops) { return kTrainingCurves.optimal_parameters(flops); }},
      {"profiles of equal FLOPs", [](double flops) { return kIsoFlopProfiles.optimal_parameters(flops); }},
      {"20 tokens per parameter", [](double flops) { return std::sqrt(flops / (6.0 * kTokensPerParameter)); }},
  };
  return kLaws;
}

std::vector<ComputeOptimum> compute_optima(double flops) {
  require<ConfigError>(flops >= 1.0 && flops <= kLargestBudget, "plan", "a budget of {} FLOPs, expected 1 to {:g}",
                       flops, kLargestBudget);
  std::vector<ComputeOptimum> optima;
  for (const ScalingLaw& law : scaling_laws()) {
    const double parameters = law.optimal_parameters(flops), tokens = tokens_for(flops, parameters);
    optima.push_back({std::string(law.name), parameters, tokens, kCorrectedSurface.loss(parameters, tokens)});
  }
  return optima;
}

}  // namespace heed
