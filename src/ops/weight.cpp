#include "ops/weight.h"

#include <algorithm>

#include "kernels/host_copy.h"
#include "ops/trainable.h"

namespace heed {
namespace {

constexpr int64_t kElementsAtOnce = int64_t{1} << 20;

}  // namespace

ConstView Weight::vector() const {
  ensure(use_ == WeightUse::vector, "weight", "{} {} is not a vector", name_, shape_);
  return value_;
}

Trainable& Weight::trainable() const {
  ensure(trainable_ != nullptr, "weight", "{} {} is not trained", name_, shape_);
  return *trainable_;
}

bool Weight::is_trained() const { return trainable_ != nullptr && !trainable_->is_frozen(); }

void Weight::borrow(ConstView value, Trainable* trainable) {
  ensure(value.elements() == shape_.elements() || value.empty(), "weight", "{} {} is given {}", name_, shape_, value);
  value_ = value;
  trainable_ = trainable;
  packed_.reset();
  owner_ = PackedOwner::model;
  own_ = Tensor();
}

void Weight::hold(std::unique_ptr<PackedWeight> packed) {
  ensure(packed->rows() == shape_.rows() && packed->columns() == shape_.columns(), "weight", "{} {} is given {} x {}",
         name_, shape_, packed->rows(), packed->columns());
  borrow({}, nullptr);
  packed_ = std::move(packed);
}

void Weight::hold_for_training(std::unique_ptr<PackedWeight> packed) {
  hold(std::move(packed));
  owner_ = PackedOwner::trainer;
}

std::unique_ptr<PackedWeight> Weight::take_packed() {
  std::unique_ptr<PackedWeight> taken = std::move(packed_);
  borrow({}, nullptr);
  return taken;
}

void Weight::store(Backend& backend, ProductTypes types, const RowSource& rows) {
  borrow({}, nullptr);
  if (use_ == WeightUse::product || use_ == WeightUse::product_and_table) {
    packed_ = backend.pack(shape_, types, rows);
    return;
  }
  const DType type = use_ == WeightUse::vector ? backend.master_type() : types.inputs;
  own_ = keep_readable(backend, shape_, type);
  value_ = own_.view();
  const int64_t at_once = std::max<int64_t>(1, kElementsAtOnce / shape_.columns());
  for (int64_t first = 0; first < shape_.rows(); first += at_once) {
    const int64_t count = std::min(at_once, shape_.rows() - first);
    backend.copy(rows(first, count), own_.view().row_range(first, count));
  }
}

void Weight::make_room_for(const Shape& matrix) {
  ensure(use_ != WeightUse::vector && matrix == shape_, "weight", "{} {} is given a matrix {}", name_, shape_, matrix);
  borrow({}, nullptr);
}

void Weight::store(Backend& backend, const Int8Matrix& matrix) {
  make_room_for(matrix.shape);
  packed_ = backend.pack(matrix);
}

void Weight::store(Backend& backend, const Int8GroupMatrix& matrix, DType inputs) {
  make_room_for(matrix.shape);
  packed_ = backend.pack(matrix, inputs);
}

void Weight::store(Backend& backend, const Int4Matrix& matrix) {
  make_room_for(matrix.shape);
  packed_ = backend.pack(matrix);
}

void Weight::store(Backend& backend, const Int8Panels& panels) {
  make_room_for(panels.shape);
  packed_ = backend.adopt(panels);
}

void Weight::store(Backend& backend, const Int8GroupPanels& panels, DType inputs) {
  make_room_for(panels.shape);
  packed_ = backend.adopt(panels, inputs);
}

void Weight::store(Backend& backend, const Int4Panels& panels) {
  make_room_for(panels.shape);
  packed_ = backend.adopt(panels);
}

void Weight::store(Backend& backend, const HalfPanels& panels, DType inputs) {
  make_room_for(panels.shape);
  packed_ = backend.adopt(panels, inputs);
}

}  // namespace heed
