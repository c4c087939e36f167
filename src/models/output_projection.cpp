#include "models/output_projection.h"

#include "models/stacks.h"
#include "ops/rows/scale.h"

namespace heed {
namespace {

LinearWeights output_weights(const Scope& scope, const ModelConfig& config, int64_t outputs, const Weight* tied) {
  const Division division = config.head == Head::tokens ? Division::rows() : Division::none();
  LinearWeights weights{tied, nullptr};
  const WeightRoles roles{{config.head == Head::tokens ? WeightRole::logits : WeightRole::labels}};
  const Initialization initialization = matrix_initialization(config, 1).inner();
  const bool is_narrow = config.head_layer || config.architecture == Architecture::causal_lm;
  const int64_t inputs = is_narrow ? config.width_of_head_layer() : config.model;
  if (tied == nullptr) {
    weights.weight = &scope.add("weight", roles, {outputs, inputs}, WeightUse::product, initialization, division);
  }
  if (config.output_bias == Bias::present) {
    weights.bias = &scope.add("bias", {roles, WeightTerm::bias}, {outputs}, WeightUse::vector,
                              initialization.of_bias(inputs), division);
  }
  return weights;
}

}  // namespace

OutputProjection::OutputProjection(const Scope& scope, const ModelConfig& config, int64_t outputs, const Weight* tied)
    : weights_(output_weights(scope, config, outputs, tied)),
      scale_(config.output_scale),
      cap_{config.logit_cap},
      divided_(config.head == Head::tokens ? DividedVocabulary(&scope.parts(), outputs) : DividedVocabulary()) {}

Logits OutputProjection::logits(Pass& pass, const Hidden& hidden) const {
  ensure(!divided_.is_divided(), "model", "logits over a vocabulary of which this rank has a part");
  return output_logits(pass, Hidden(scaled(pass, hidden.var(), scale_)), weights_, cap_);
}

Logits OutputProjection::logits(Pass& pass, ConstView hidden, const OutputRows& tokens) const {
  if (scale_ == 1.0) {
    return output_logits(pass, hidden, tokens, cap_);
  }
  const Tensor scaled_rows = pass.allocate({hidden.rows(), hidden.columns()}, hidden.type());
  pass.backend().copy(hidden, scaled_rows.view());
  pass.backend().scale(scaled_rows.view(), scale_);
  return output_logits(pass, scaled_rows.view(), tokens, cap_);
}

TokenLosses OutputProjection::loss(Pass& pass, const Hidden& hidden, const Targets& expected, Smoothing smoothing,
                                   double weight) const {
  return output_loss(pass, Hidden(scaled(pass, hidden.var(), scale_)), weights_, expected,
                     {smoothing, cap_, divided_, weight});
}

}  // namespace heed
