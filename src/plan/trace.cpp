#include "plan/trace.h"

#include <algorithm>

namespace heed {
namespace {

class Walk {
 public:
  explicit Walk(const std::vector<int64_t>& value_bytes)
      : value_bytes_(value_bytes), has_gradient_(value_bytes.size(), false) {}

  void forward(const std::vector<TracedOp>& ops) {
    for (const TracedOp& op : ops) {
      take(op.saved_bytes);
      for (const size_t output : op.outputs) {
        take(value_bytes_[output]);
      }
      if (op.gradients_begin == GradientsBegin::in_forward) {
        begin_gradients(op);
      }
      take(op.transient_bytes);
      live_ -= op.transient_bytes;
    }
  }

  void backward(const std::vector<TracedOp>& ops) {
    for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
      const TracedOp& op = *it;
      if (!op.recomputed.empty()) {
        // The recomputed outputs take over the gradients, and are freed with them.
        forward(op.recomputed);
        backward(op.recomputed);
      }
      begin_gradients(op);
      take(op.backward_transient_bytes);
      live_ -= op.backward_transient_bytes;
      forget(op);
    }
  }

  int64_t peak() const { return peak_; }
  int64_t live() const { return live_; }

 private:
  void take(int64_t bytes) {
    live_ += bytes;
    peak_ = std::max(peak_, live_);
  }

  void begin_gradients(const TracedOp& op) {
    for (const size_t input : op.inputs) {
      if (!has_gradient_[input]) {
        has_gradient_[input] = true;
        take(value_bytes_[input]);
      }
    }
  }

  void forget(const TracedOp& op) {
    live_ -= op.saved_bytes;
    for (const size_t output : op.outputs) {
      live_ -= value_bytes_[output] * (has_gradient_[output] ? 2 : 1);
      has_gradient_[output] = false;
    }
  }

  const std::vector<int64_t>& value_bytes_;
  std::vector<bool> has_gradient_;
  int64_t live_ = 0, peak_ = 0;
};

}  // namespace

int64_t Trace::peak_bytes() const {
  Walk walk(value_bytes);
  walk.forward(ops);
  walk.backward(ops);
  return walk.peak();
}

int64_t Trace::kept_bytes() const {
  Walk walk(value_bytes);
  walk.forward(ops);
  return walk.live();
}

}  // namespace heed
