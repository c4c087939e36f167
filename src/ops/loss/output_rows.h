// Some rows of an output projection, chosen once for many products.
#pragma once

#include <memory>
#include <span>

#include "ops/attention/soft_cap.h"
#include "ops/roles.h"
#include "ops/rows/linear.h"

namespace heed {

// Keeps the rows in the form that the projection's weight has. For inference alone.
class OutputRows {
 public:
  // At least one, in any order. Each is checked against the weight.
  OutputRows(const Pass& pass, const LinearWeights& output, std::span<const int32_t> rows);

  int64_t count() const { return weight_->rows(); }
  WeightView weight() const { return {ConstView(), weight_.get()}; }
  ConstView bias() const { return bias_.empty() ? ConstView() : bias_.view(); }

 private:
  std::unique_ptr<PackedWeight> weight_;
  Tensor bias_;
};

// The logits of rows of a stack's output: columns as the rows were chosen, in the master type. Each has the bits of the
// column that output_logits gives for the whole projection.
Logits output_logits(Pass& pass, ConstView x, const OutputRows& rows, SoftCapAt cap = {});

// Where a row's candidates are among the columns of its logits.
struct CandidateRanges {
  ConstView columns;                      // i32 [1, any]
  std::span<const int32_t> begins, ends;  // of each row, in `columns`; none is empty
};

// log p of each row over its own candidates, in their order, with minus infinity after the last one. log_probs: master
// type, as many rows as the logits.
void log_softmax(const Pass& pass, const Logits& logits, const CandidateRanges& candidates, View log_probs);

}  // namespace heed
