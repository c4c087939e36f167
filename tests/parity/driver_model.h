// A model of any architecture, called with the masks of a case.
#pragma once

#include "driver_request.h"

namespace heed::parity {

class DriverModel {
 public:
  DriverModel(const Scope& scope, const ModelConfig& config) : model_(scope, config) {}

  Logits logits(Pass& pass, const Batch& batch) const;
  TokenLosses loss(Pass& pass, const Batch& batch, Smoothing smoothing, LossPath path) const;

 private:
  heed::AnyModel model_;
};

}  // namespace heed::parity
