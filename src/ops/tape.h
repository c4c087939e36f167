// The record of a forward pass, run backwards for the gradients.
#pragma once

#include <variant>
#include <vector>

#include "ops/attention/attention.h"
#include "ops/attention/head_norm.h"
#include "ops/attention/linear_attention.h"
#include "ops/attention/relative_embeddings.h"
#include "ops/attention/rotate.h"
#include "ops/attention/soft_cap.h"
#include "ops/attention/spread_buckets.h"
#include "ops/attention/ssru.h"
#include "ops/loss/label_loss.h"
#include "ops/loss/loss.h"
#include "ops/parts.h"
#include "ops/recompute.h"
#include "ops/rows/add_columns.h"
#include "ops/rows/add_norm.h"
#include "ops/rows/drop.h"
#include "ops/rows/embedding.h"
#include "ops/rows/gate.h"
#include "ops/rows/linear.h"
#include "ops/rows/low_rank.h"
#include "ops/rows/pool.h"
#include "ops/rows/scale.h"
#include "ops/rows/select_rows.h"

namespace heed {

// Each op is a plain struct of exactly what its backward reads.
using Op =
    std::variant<LinearOp, LowRankOp, EmbeddingOp, SelectRowsOp, PoolOp, AddNormOp, AddColumnsOp, HeadNormOp, GateOp,
                 RotateOp, DropOp, ScaleOp, SoftCapOp, SpreadBucketsOp, RelativeKeysOp, AttentionOp, LinearAttentionOp,
                 SsruOp, OutputLossOp, CrossEntropyOp, LabelLossOp, RecomputeOp, ToPartsOp, SumOfPartsOp>;

// Sees each op as it is recorded: its outputs have just been written, and nothing has changed them in place yet.
class TapeObserver {
 public:
  virtual ~TapeObserver() = default;
  virtual void recorded(const Op& op) = 0;
};

class Tape {
 public:
  // Gradients are those of loss_scale * (sum of the recorded losses' rows). The scale is, for example, one over the
  // tokens of the update. A loss needs it while it is recorded.
  explicit Tape(double loss_scale = 1.0) : loss_scale_(loss_scale) {}

  double loss_scale() const { return loss_scale_; }
  void record(Op op);
  bool empty() const { return ops_.empty(); }
  // The observer must outlive what is recorded.
  void observe(TapeObserver& observer) { observer_ = &observer; }

  // Last op first. Each is destroyed once it has run, and with it the activations that no other op needs.
  void backward(Backend& backend) {
    backward(backend, [] {});
  }
  // Calls after_op() when an op has run.
  template <class AfterOp>
  void backward(Backend& backend, AfterOp after_op) {
    while (!ops_.empty()) {
      run_last(backend);
      after_op();
    }
  }

 private:
  void run_last(Backend& backend);

  double loss_scale_;
  std::vector<Op> ops_;
  TapeObserver* observer_ = nullptr;
};

}  // namespace heed
