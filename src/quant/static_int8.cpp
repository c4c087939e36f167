#include "quant/static_int8.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

namespace heed {
namespace {

constexpr double kExponents[] = {0.25, 0.5, 0.75};

using Factors = std::vector<float>;  // of columns; empty: all 1

void multiply_columns(std::vector<float>& values, const Factors& factors) {
  for (size_t i = 0; i < values.size() && !factors.empty(); ++i) {
    values[i] *= factors[i % factors.size()];
  }
}

// One matrix, with a sample of its inputs, both perhaps smoothed.
class Candidate {
 public:
  Candidate(Backend& backend, const StaticMatrix& matrix, const Factors& factors)
      : backend_(backend), inputs_(matrix.inputs.sample().values.begin(), matrix.inputs.sample().values.end()) {
    std::vector<float> values = matrix.values;
    multiply_columns(values, factors);
    exact_ = packed_f32(backend, values, matrix.weight.shape());
    rounded_ = to_int8(values, matrix.weight.shape());
    Factors inverse(factors.size());
    std::ranges::transform(factors, inverse.begin(), [](float factor) { return 1.0F / factor; });
    multiply_columns(inputs_, inverse);
    const std::vector<float>& largest = matrix.inputs.largest();
    for (size_t k = 0; k < largest.size(); ++k) {
      largest_ = std::max(largest_, largest[k] * (factors.empty() ? 1.0F : inverse[k]));
    }
  }

  // None where all inputs are zeros.
  std::optional<StaticInputs> best() const {
    std::optional<StaticInputs> best;
    for (const InputRange& range : candidate_ranges(inputs_, largest_)) {
      const Noise noise = product_noise(backend_, {inputs_, exact_->columns()}, *exact_,
                                        *backend_.pack(rounded_.as_int8(range.scale())));
      if (!best || noise.noise < best->noise.noise) {
        best = {range, noise};
      }
    }
    return best;
  }

 private:
  Backend& backend_;
  std::vector<float> inputs_;
  std::unique_ptr<PackedWeight> exact_;
  IntegerMatrix rounded_;
  float largest_ = 0.0F;
};

// max |W[:, k]| of all matrices.
Factors largest_of_columns(const std::vector<const StaticMatrix*>& matrices) {
  Factors largest(static_cast<size_t>(matrices.front()->weight.shape().columns()), 0.0F);
  for (const StaticMatrix* const matrix : matrices) {
    for (size_t i = 0; i < matrix->values.size(); ++i) {
      float& most = largest[i % largest.size()];
      most = std::max(most, std::abs(matrix->values[i]));
    }
  }
  return largest;
}

Factors smoothing_factors(const std::vector<const StaticMatrix*>& matrices, double exponent) {
  constexpr double kSmallest = 1e-4, kLargest = 1e4;
  const Factors& inputs = matrices.front()->inputs.largest();
  Factors factors = largest_of_columns(matrices);
  for (size_t k = 0; k < factors.size(); ++k) {
    const double factor = factors[k] > 0.0F && inputs[k] > 0.0F
                              ? std::pow(static_cast<double>(inputs[k]), exponent) /
                                    std::pow(static_cast<double>(factors[k]), 1.0 - exponent)
                              : 1.0;
    factors[k] = static_cast<float>(std::clamp(factor, kSmallest, kLargest));
  }
  return factors;
}

// The best ranges of matrices that read one norm.
struct Chosen {
  Factors factors;
  std::vector<std::optional<StaticInputs>> inputs;
  double error = 0.0;  // the sum of the relative ones
};

Chosen with_factors(Backend& backend, const std::vector<const StaticMatrix*>& matrices, Factors factors) {
  Chosen chosen{std::move(factors), {}};
  for (const StaticMatrix* const matrix : matrices) {
    chosen.inputs.push_back(Candidate(backend, *matrix, chosen.factors).best());
    if (chosen.inputs.back()) {
      const Noise& noise = chosen.inputs.back()->noise;
      chosen.error += noise.signal > 0.0 ? noise.noise / noise.signal : 0.0;
    }
  }
  return chosen;
}

class Planning {
 public:
  Planning(Backend& backend, const std::vector<StaticMatrix>& matrices) : backend_(backend), matrices_(matrices) {}

  void plan(const NormedProducts& norm) {
    std::vector<const StaticMatrix*> readers;
    for (const Weight* const product : norm.products) {
      const auto it = std::ranges::find_if(matrices_, [&](const StaticMatrix& one) { return &one.weight == product; });
      if (it == matrices_.end()) {
        return;
      }
      readers.push_back(&*it);
    }
    Chosen best = with_factors(backend_, readers, {});
    for (const double exponent : kExponents) {
      Chosen smoothed = with_factors(backend_, readers, smoothing_factors(readers, exponent));
      if (smoothed.error < best.error) {
        best = std::move(smoothed);
      }
    }
    if (!best.factors.empty()) {
      for (const Weight* const weight : norm.norm) {
        const bool above_one = norm.gain_form == NormGain::plus_one && weight->identity().term == WeightTerm::factor;
        (above_one ? plan_.smoothing.divided_above_one : plan_.smoothing.divided)[weight->name()] = best.factors;
      }
    }
    take(readers, best);
  }

  StaticPlan rest() {
    for (const StaticMatrix& matrix : matrices_) {
      if (!done_.contains(matrix.weight.name())) {
        take({&matrix}, with_factors(backend_, {&matrix}, {}));
      }
    }
    return std::move(plan_);
  }

 private:
  void take(const std::vector<const StaticMatrix*>& matrices, const Chosen& chosen) {
    for (size_t i = 0; i < matrices.size(); ++i) {
      const std::string& name = matrices[i]->weight.name();
      done_.insert(name);
      if (chosen.inputs[i]) {
        plan_.inputs[name] = *chosen.inputs[i];
      }
      if (!chosen.factors.empty()) {
        plan_.smoothing.multiplied[name] = chosen.factors;
      }
    }
  }

  Backend& backend_;
  const std::vector<StaticMatrix>& matrices_;
  StaticPlan plan_;
  std::set<std::string> done_;
};

}  // namespace

void ColumnFactors::apply(const std::string& weight, std::vector<float>& values) const {
  if (const auto it = multiplied.find(weight); it != multiplied.end()) {
    multiply_columns(values, it->second);
  }
  if (const auto it = divided.find(weight); it != divided.end()) {
    for (size_t k = 0; k < values.size(); ++k) {
      values[k] /= it->second[k];
    }
  }
  if (const auto it = divided_above_one.find(weight); it != divided_above_one.end()) {
    for (size_t k = 0; k < values.size(); ++k) {
      values[k] = (1.0F + values[k]) / it->second[k] - 1.0F;
    }
  }
}

StaticPlan plan_static(Backend& backend, const std::vector<StaticMatrix>& matrices,
                       const std::vector<NormedProducts>& norms) {
  Planning planning(backend, matrices);
  for (const NormedProducts& norm : norms) {
    planning.plan(norm);
  }
  return planning.rest();
}

}  // namespace heed
