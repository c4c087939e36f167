// What training stores for a weight: its master, its gradient, and how often the gradient was written.
#pragma once

#include "kernels/calls/write.h"
#include "ops/weight.h"

namespace heed {

class Trainable {
 public:
  Trainable() = default;
  // Both in the master type and of the weight's shape. The gradient may be empty; then nothing can contribute to it.
  Trainable(View master, View gradient) : master_(master), gradient_(gradient) {}

  // A weight that keeps its value has neither gradient nor optimizer.
  static Trainable frozen(View master) {
    Trainable trainable(master, {});
    trainable.frozen_ = true;
    return trainable;
  }

  bool is_frozen() const { return frozen_; }
  View master() const { return master_; }  // what the optimizer updates
  View gradient() const { return gradient_; }
  int64_t writes() const { return writes_; }  // to this gradient so far

  // How the next contribution to the gradient must be written: the first overwrites the previous gradient, the others
  // add. Asking counts as writing.
  Write next_write() { return writes_++ == 0 ? Write::overwrite : Write::add; }
  // For kernels that can only add: zeros the gradient when this is the first contribution.
  View gradient_to_add_to(Backend& backend) {
    if (next_write() == Write::overwrite) {
      backend.fill(gradient_, 0.0);
    }
    return gradient_;
  }

  // Starts a new gradient in this memory.
  void begin_gradient(View gradient) {
    gradient_ = gradient;
    writes_ = 0;
  }
  // Goes on with a gradient that is in this memory, to which this many contributions were written.
  void continue_gradient(View gradient, int64_t writes) {
    gradient_ = gradient;
    writes_ = writes;
  }
  // The gradient so far has been moved there.
  void move_gradient(View gradient) { gradient_ = gradient; }

 private:
  View master_, gradient_;
  int64_t writes_ = 0;
  bool frozen_ = false;
};

// The gradient of a weight, for kernels that can only add; empty where there is no weight or it is not trained.
inline View gradient_to_add_to(Backend& backend, const Weight* weight) {
  return weight != nullptr && weight->is_trained() ? weight->trainable().gradient_to_add_to(backend) : View();
}

}  // namespace heed
