// A weight as layers and ops see it: its name, its shape, how it is used, and its value in one stored form.
#pragma once

#include <string>

#include "kernels/kernels.h"

namespace heed {

class Trainable;

// How a weight is read. The layer that registers it says so.
enum class WeightUse : uint8_t {
  product,            // x W^T
  table,              // its rows are looked up
  product_and_table,  // both: an embedding that is the output projection too
  vector,             // element by element: biases, gains
};

// Knows nothing about training except where its gradient goes.
class Weight {
 public:
  Weight(std::string name, Shape shape, WeightUse use) : name_(std::move(name)), shape_(shape), use_(use) {}

  const std::string& name() const { return name_; }
  const Shape& shape() const { return shape_; }
  WeightUse use() const { return use_; }

  // Matrices in the run's precision, perhaps packed; vectors in the master type.
  WeightView value() const { return {value_, packed_.get()}; }
  View vector() const;  // of a vector

  int64_t bytes() const { return packed_ != nullptr ? packed_->bytes() : own_.empty() ? 0 : own_.bytes(); }

  // Where its gradient goes. Our own invariant: it is being trained.
  Trainable& trainable() const;

  // The value belongs to the trainer. An empty view: there is no value.
  void borrow(View value, Trainable* trainable);
  // For inference: stores the values, which may have any type, in the one form that the use needs, in `precision`:
  // packed for a product, plain for a table; a product that is also a table looks up its rows in the packed form.
  void hold(Backend& backend, DType precision, const RowSource& rows);

 private:
  std::string name_;
  Shape shape_;
  WeightUse use_;
  View value_;
  Tensor own_;
  std::unique_ptr<PackedWeight> packed_;
  Trainable* trainable_ = nullptr;
};

}  // namespace heed
