// From a stack's output to what it predicts: scores of tokens or labels, and their losses.
#pragma once

#include <span>

#include "models/config.h"
#include "ops/loss/loss.h"
#include "ops/loss/output_rows.h"

namespace heed {

class OutputProjection {
 public:
  // A matrix of its own, or `tied`, an embedding table; and perhaps a bias. Of a model in parts each rank has some rows
  // of a vocabulary, and all rows of labels.
  OutputProjection(const Scope& scope, const ModelConfig& config, int64_t outputs, const Weight* tied);

  // Requires a whole vocabulary.
  Logits logits(Pass& pass, const Hidden& hidden) const;
  // `weight` is that of its gradients.
  TokenLosses loss(Pass& pass, const Hidden& hidden, const Targets& expected, Smoothing smoothing,
                   double weight = 1.0) const;

  // Over some tokens alone, chosen once for many calls.
  OutputRows rows(const Pass& pass, std::span<const int32_t> tokens) const { return {pass, weights_, tokens}; }
  Logits logits(Pass& pass, ConstView hidden, const OutputRows& tokens) const;

 private:
  LinearWeights weights_;
  double scale_;  // of what comes in
  SoftCapAt cap_;
  DividedVocabulary divided_;
};

}  // namespace heed
