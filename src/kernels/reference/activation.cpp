#include "kernels/reference/activation.h"

#include <cmath>
#include <numbers>

namespace heed::reference {
namespace {

constexpr double kCubic = 0.044715;

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

double normal_density(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi); }

// The argument of gelu_tanh's tanh, and its derivative.
double inner(double x) { return std::sqrt(2.0 / std::numbers::pi) * (x + kCubic * x * x * x); }
double inner_slope(double x) { return std::sqrt(2.0 / std::numbers::pi) * (1.0 + 3.0 * kCubic * x * x); }

}  // namespace

double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x > 0.0 ? x : 0.0;
    case Activation::relu_squared:
      return x > 0.0 ? x * x : 0.0;
    case Activation::gelu:
      return x * normal_distribution(x);
    case Activation::gelu_tanh:
      return 0.5 * x * (1.0 + std::tanh(inner(x)));
    case Activation::silu:
      return x * sigmoid(x);
    case Activation::tanh:
      return std::tanh(x);
  }
  return x;
}

double slope(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return 1.0;
    case Activation::relu:
      return x > 0.0 ? 1.0 : 0.0;
    case Activation::relu_squared:
      return x > 0.0 ? 2.0 * x : 0.0;
    case Activation::gelu:
      return normal_distribution(x) + x * normal_density(x);
    case Activation::gelu_tanh: {
      const double t = std::tanh(inner(x));
      return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * inner_slope(x);
    }
    case Activation::silu: {
      const double s = sigmoid(x);
      return s + x * s * (1.0 - s);
    }
    case Activation::tanh: {
      const double t = std::tanh(x);
      return 1.0 - t * t;
    }
  }
  return 1.0;
}

}  // namespace heed::reference
