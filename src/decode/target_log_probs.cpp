#include "decode/target_log_probs.h"

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

TokenLosses loss_of(const AnyModel& model, Pass& pass, const PairBatch& batch) {
  return model.seq2seq().loss(pass, batch, Smoothing(0.0F));
}
TokenLosses loss_of(const AnyModel& model, Pass& pass, const TokenBatch& batch) {
  return model.causal_lm().loss(pass, batch, Smoothing(0.0F));
}

template <class Batch>
std::vector<double> log_probs_of_model(const Inference& one, const Batch& batch) {
  Pass pass = Pass::infer(one.backend, one.storage);
  const TokenLosses losses = loss_of(one.model, pass, batch);
  std::vector<double> log_probs;
  for (int64_t row = 0; row < losses.rows(); ++row) {
    log_probs.push_back(-losses.negative_log_likelihood(row));
  }
  return log_probs;
}

// log((e^a + e^b + ...) / K) of the K models' values at `row`.
double log_of_mean(const std::vector<std::vector<double>>& of_models, size_t row) {
  double largest = of_models.front()[row], sum = 0.0;
  for (const std::vector<double>& of_model : of_models) {
    largest = std::max(largest, of_model[row]);
  }
  for (const std::vector<double>& of_model : of_models) {
    sum += std::exp(of_model[row] - largest);
  }
  return std::isinf(largest) ? largest : largest + std::log(sum / static_cast<double>(of_models.size()));
}

template <class Batch>
std::vector<double> averaged(const Inference& inference, const Batch& batch) {
  std::vector<std::vector<double>> of_models;
  for (const Inference& member : inference.members()) {
    of_models.push_back(log_probs_of_model(member, batch));
  }
  if (of_models.size() == 1) {
    return of_models.front();
  }
  std::vector<double> mean;
  for (size_t row = 0; row < of_models.front().size(); ++row) {
    mean.push_back(log_of_mean(of_models, row));
  }
  return mean;
}

}  // namespace

std::vector<double> log_probs_of_targets(const Inference& inference, const PairBatch& batch) {
  return averaged(inference, batch);
}

std::vector<double> log_probs_of_targets(const Inference& inference, const TokenBatch& batch) {
  return averaged(inference, batch);
}

}  // namespace heed
