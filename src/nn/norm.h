// Layer and RMS normalization, alone or joined with a residual connection.
#pragma once

#include "nn/linear.h"
#include "ops/add_norm.h"

namespace heed {

enum class NormPlacement : uint8_t { pre, post };

class Norm {
 public:
  Norm(const Scope& scope, int64_t width, NormKind kind, Bias bias, double epsilon);

  Var operator()(Pass& pass, const Var& x) const { return norm(pass, x, weights_); }
  const NormWeights& weights() const { return weights_; }

 private:
  NormWeights weights_;
};

// What comes between one sublayer and the next: dropout of the branch, residual add, and
//   pre:  the norm that the next sublayer reads (none after the last sublayer of a stack without a final norm);
//   post: this sublayer's own norm, whose output is the new residual.
class Join {
 public:
  Join(NormPlacement placement, const Norm* norm, DropoutSite dropout)
      : placement_(placement), has_norm_(norm != nullptr), dropout_(dropout) {
    if (has_norm_) {
      norm_ = norm->weights();
    }
  }

  Stream operator()(Pass& pass, const Var& residual, const Var& branch) const;

 private:
  NormPlacement placement_;
  bool has_norm_;
  NormWeights norm_;
  DropoutSite dropout_;
};

}  // namespace heed
