// A weight as layers and ops see it: its name and shape, what it is and how it is used, and its value in one stored
// form.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "kernels/kernels.h"
#include "ops/weight_role.h"

namespace heed {

class Trainable;
struct LowRank;

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
  Weight(std::string name, Shape shape, WeightUse use, WeightIdentity identity = {})
      : name_(std::move(name)), shape_(shape), use_(use), identity_(std::move(identity)) {}

  const std::string& name() const { return name_; }
  const Shape& shape() const { return shape_; }
  WeightUse use() const { return use_; }
  const WeightIdentity& identity() const { return identity_; }  // in the whole model

  // Matrices in the run's precision, perhaps packed; vectors in the master type.
  WeightView value() const { return {value_, packed_.get()}; }
  ConstView vector() const;  // of a vector

  // Whether products read the values that a packed matrix stands for (ops/unpacked_weight.h), as those of training do,
  // instead of rounding to integers what integers multiply.
  bool is_unpacked_for_products() const { return packed_ != nullptr && owner_ == PackedOwner::trainer; }

  int64_t bytes() const { return packed_ != nullptr ? packed_->bytes() : own_.empty() ? 0 : own_.bytes(); }

  // Where its gradient goes. Our own invariant: training stores something for it.
  Trainable& trainable() const;
  bool has_trainable() const { return trainable_ != nullptr; }
  bool is_trained() const;  // whether it has a gradient: in training, and not frozen

  // A low-rank matrix that products add to this one; null: none.
  const LowRank* low_rank() const { return low_rank_.get(); }
  void add_low_rank(std::shared_ptr<const LowRank> low_rank) { low_rank_ = std::move(low_rank); }

  // The value belongs to the trainer. An empty view: there is no value.
  void borrow(ConstView value, Trainable* trainable);
  // A matrix that is packed already, for inference; and one of the trainer's, which keeps its value.
  void hold(std::unique_ptr<PackedWeight> packed);
  void hold_for_training(std::unique_ptr<PackedWeight> packed);
  // What is packed; the weight then has no value.
  std::unique_ptr<PackedWeight> take_packed();
  // For inference: stores the values, which may have any type, in the one form that the use needs: packed, in the
  // weights' type, for a product; plain, in the inputs' type, for a table. Where a product's weight is also a table,
  // rows are looked up in the packed form.
  void store(Backend& backend, ProductTypes types, const RowSource& rows);
  // The same for a matrix of quantized values, which are always packed.
  void store(Backend& backend, const Int8Matrix& matrix);
  void store(Backend& backend, const Int8GroupMatrix& matrix, DType inputs);
  void store(Backend& backend, const Int4Matrix& matrix);
  // A matrix that is in panels already stays where it is.
  void store(Backend& backend, const Int8Panels& panels);
  void store(Backend& backend, const Int8GroupPanels& panels, DType inputs);
  void store(Backend& backend, const Int4Panels& panels);
  void store(Backend& backend, const HalfPanels& panels, DType inputs);

 private:
  enum class PackedOwner : uint8_t { model, trainer };
  void make_room_for(const Shape& matrix);

  std::string name_;
  Shape shape_;
  WeightUse use_;
  WeightIdentity identity_;
  ConstView value_;
  Tensor own_;
  std::unique_ptr<PackedWeight> packed_;
  PackedOwner owner_ = PackedOwner::model;
  Trainable* trainable_ = nullptr;
  std::shared_ptr<const LowRank> low_rank_;
};

}  // namespace heed
