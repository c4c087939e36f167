// A parameter as ops see it: its value in the forms they read, and where its gradient goes.
#pragma once

#include <string>

#include "kernels/kernels.h"

namespace heed {

class Parameter {
 public:
  Parameter(std::string name, Shape shape) : name_(std::move(name)), shape_(shape) {}

  const std::string& name() const { return name_; }
  const Shape& shape() const { return shape_; }

  View master() const { return master_; }                          // what the optimizer updates
  WeightView weight() const { return {compute_, packed_.get()}; }  // what products read, in the run's storage type
  View gradient() const { return gradient_; }

  // How the next contribution to the gradient is to be written: the first of an update overwrites what is left of the
  // last, the others add. Asking counts as writing.
  Write next_write() const {
    const Write write = untouched_ ? Write::overwrite : Write::add;
    untouched_ = false;
    return write;
  }
  bool untouched() const { return untouched_; }
  // For kernels that can only add: zeros the gradient when this is the first contribution.
  View gradient_to_add_to(Backend& backend) const {
    if (next_write() == Write::overwrite) {
      backend.fill(gradient_, 0.0);
    }
    return gradient_;
  }

  // For whoever owns the memory.
  void bind(View master, View compute, View gradient);
  void begin_update() { untouched_ = true; }
  void pack(Backend& backend) { packed_ = backend.pack(compute_); }
  void unpack() { packed_.reset(); }

 private:
  std::string name_;
  Shape shape_;
  View master_, compute_, gradient_;
  std::unique_ptr<PackedWeight> packed_;
  mutable bool untouched_ = true;
};

}  // namespace heed
