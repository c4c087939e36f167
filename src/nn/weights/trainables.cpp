#include "nn/weights/trainables.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/rounding.h"
#include "kernels/host_copy.h"

namespace heed {
namespace {

constexpr int64_t kAlignment = 32;  // elements: weights begin on a cache line in either type

int64_t padded(int64_t elements) { return round_up(elements, kAlignment); }

}  // namespace

Trainables::Trainables(Backend& backend, Weights& weights, DType precision, Gradients gradients,
                       std::vector<WeightTreatment> treatments, std::vector<bool> held)
    : backend_(backend),
      weights_(weights),
      precision_(precision),
      treatments_(std::move(treatments)),
      held_(std::move(held)),
      kept_(weights.all().size()),
      offsets_(weights.all().size()) {
  weights.close();
  treatments_.resize(offsets_.size(), WeightTreatment::trained);
  held_.resize(offsets_.size(), true);
  int64_t total = 0;
  for (size_t i = offsets_.size(); i-- > 0;) {
    offsets_[i] = total;
    total += treatments_[i] == WeightTreatment::trained ? padded(weights.all()[i].shape().elements()) : 0;
  }
  masters_ = backend.keep({total}, backend.master_type());
  if (gradients == Gradients::wanted) {
    gradients_ = backend.keep({total}, backend.master_type());
  }
  if (precision != backend.master_type()) {
    copies_ = backend.keep({total}, precision);
  }
  for (size_t i = 0; i < offsets_.size(); ++i) {
    if (treatments_[i] != WeightTreatment::trained) {
      keep(backend, i);
    } else if (held_[i]) {
      train(i);
    } else {
      trainables_.push_back(Trainable::frozen(part(masters_, i)));
      weights.all()[i].borrow({}, &trainables_.back());
    }
  }
}

void Trainables::train(size_t index) {
  Weight& weight = weights_.all()[index];
  const View master = part(masters_, index);
  trainables_.emplace_back(master, part(gradients_, index));
  weight.borrow(reads_master(index) ? master : part(copies_, index), &trainables_.back());
}

void Trainables::keep(Backend& backend, size_t index) {
  Weight& weight = weights_.all()[index];
  Kept& kept = kept_[index];
  if (treatments_[index] == WeightTreatment::of_base) {
    weight.borrow({}, nullptr);
    return;
  }
  kept.master = backend.keep(weight.shape(), backend.master_type());
  trainables_.push_back(Trainable::frozen(part(kept.master, index)));
  const bool reads_master = precision_ == backend.master_type() || weight.use() == WeightUse::vector;
  if (!reads_master) {
    kept.copy = backend.keep(weight.shape(), precision_);
  }
  weight.borrow(part(reads_master ? kept.master : kept.copy, index), &trainables_.back());
}

void Trainables::store_base(Backend& backend, size_t index, ConstView value) {
  Weight& weight = weights_.all()[index];
  ensure(treatments_[index] == WeightTreatment::of_base, "trainables", "{} is not of the base", weight.name());
  Tensor& copy = kept_[index].copy;
  copy = backend.keep(weight.shape(), weight.use() == WeightUse::vector ? backend.master_type() : precision_);
  backend.copy(value, copy.view());
  weight.borrow(part(copy, index), nullptr);
}

void Trainables::store_base(size_t index, std::unique_ptr<PackedWeight> packed) {
  Weight& weight = weights_.all()[index];
  ensure(treatments_[index] == WeightTreatment::of_base, "trainables", "{} is not of the base", weight.name());
  weight.hold_for_training(std::move(packed));
}

int64_t Trainables::end(size_t weight) const {
  return offsets_[weight] + padded(weights_.all()[weight].shape().elements());
}

std::vector<WeightSlice> Trainables::slices() const {
  std::vector<WeightSlice> slices;
  for (size_t i = treatments_.size(); i-- > 0;) {
    const int64_t elements = treatments_[i] == WeightTreatment::trained ? weights_.all()[i].shape().elements() : 0;
    for (int64_t done = 0; done < elements; done += WeightSlice::kMaxElements) {
      slices.push_back({i, offsets_[i] + done, std::min(WeightSlice::kMaxElements, elements - done)});
    }
  }
  return slices;
}

bool Trainables::reads_master(size_t weight) const {
  return copies_.empty() || weights_.all()[weight].use() == WeightUse::vector;
}

View Trainables::values(const WeightSlice& slice) const {
  return (reads_master(slice.weight) ? masters() : copies()).column_range(slice.first, slice.count);
}

void Trainables::discard_master(const WeightSlice& slice) {
  if (!reads_master(slice.weight) || !is_held(slice.weight)) {
    masters_.discard(slice.first, slice.count);
  }
}

void Trainables::discard_gradients() {
  gradients_.discard(0, gradients_.elements());
  if (!of_shard_.empty()) {
    of_shard_.discard(0, of_shard_.elements());
  }
}

void Trainables::attach_remote_weights(Backend& backend) {
  for (size_t i = 0; i < treatments_.size(); ++i) {
    if (is_held(i)) {
      continue;
    }
    Weight& weight = weights_.all()[i];
    if (!reads_master(i)) {
      backend.copy(part(masters_, i), part(copies_, i));
    }
    weight.borrow(reads_master(i) ? part(masters_, i) : part(copies_, i), &weight.trainable());
  }
}

void Trainables::detach_remote_weights() {
  for (size_t i = 0; i < treatments_.size(); ++i) {
    if (!is_held(i)) {
      Weight& weight = weights_.all()[i];
      weight.borrow({}, &weight.trainable());
      if (!reads_master(i)) {
        copies_.discard(offsets_[i], weight.shape().elements());
      }
    }
  }
}

int64_t Trainables::trained_elements() const {
  int64_t elements = 0;
  for (size_t i = 0; i < treatments_.size(); ++i) {
    elements += treatments_[i] == WeightTreatment::trained ? weights_.own_elements(i).whole().elements() : 0;
  }
  return elements;
}

// The tensor of a weight that is kept has nothing else.
View Trainables::part(const Tensor& flat, size_t index) const {
  if (flat.empty()) {
    return {};
  }
  if (treatments_[index] != WeightTreatment::trained) {
    return flat.view();
  }
  const Shape& shape = weights_.all()[index].shape();
  return flat.view()
      .column_range(offsets_[index], shape.elements())
      .regrouped(shape.rows(), shape.columns(), shape.columns());
}

Trainables::~Trainables() {
  for (Weight& weight : weights_.all()) {
    weight.borrow({}, nullptr);
  }
}

void Trainables::initialize(Backend& backend, uint64_t seed) {
  for (size_t i = 0; i < treatments_.size(); ++i) {
    const Weight& weight = weights_.all()[i];
    if (treatments_[i] == WeightTreatment::of_base || !is_held(i)) {
      continue;
    }
    HostRoom room(backend, weight.trainable().master());
    const View& master = room.view();
    weights_.initial_values(i, seed, [&](int64_t e, double value) {
      if (master.type() == DType::f64) {
        host<double>(master).data[e] = value;
      } else {
        host<float>(master).data[e] = static_cast<float>(value);
      }
    });
    room.put();
  }
  refresh(backend);
}

void Trainables::initialize_base(Backend& backend, uint64_t seed) {
  std::vector<float> values;
  for (size_t i = 0; i < treatments_.size(); ++i) {
    const Weight& weight = weights_.all()[i];
    if (treatments_[i] != WeightTreatment::of_base || !weight.value().empty()) {
      continue;
    }
    const Shape& shape = weight.shape();
    values.resize(static_cast<size_t>(shape.elements()));
    weights_.initial_values(
        i, seed, [&](int64_t e, double value) { values[static_cast<size_t>(e)] = static_cast<float>(value); });
    store_base(backend, i, ConstView(values.data(), DType::f32, shape.rows(), shape.columns(), shape.columns()));
  }
}

void Trainables::refresh(Backend& backend) {
  if (!copies_.empty()) {
    for_each_held_range([&](int64_t first, int64_t count) {
      backend.copy(masters().column_range(first, count), copies().column_range(first, count));
    });
  }
  for (const Kept& kept : kept_) {
    if (!kept.master.empty() && !kept.copy.empty()) {
      backend.copy(kept.master.view(), kept.copy.view());
    }
  }
}

template <class Use>
void Trainables::for_each_held_range(Use use) const {
  int64_t first = 0, next = 0;
  for (size_t i = treatments_.size(); i-- > 0;) {
    if (!has_gradient(i)) {
      continue;
    }
    if (offsets_[i] != next) {
      if (next > first) {
        use(first, next - first);
      }
      first = offsets_[i];
    }
    next = end(i);
  }
  if (next > first) {
    use(first, next - first);
  }
}

template <class Use>
void Trainables::for_each_trained(Use use) {
  for (size_t i = 0; i < treatments_.size(); ++i) {
    if (has_gradient(i)) {
      use(i, weights_.all()[i].trainable());
    }
  }
}

void Trainables::begin_update() {
  shards_ = 1;
  for_each_trained([&](size_t i, Trainable& trainable) { trainable.begin_gradient(part(gradients_, i)); });
}

void Trainables::begin_shard(Backend& backend) {
  finish_shard(backend);
  ++shards_;
  write_to_shard();
}

void Trainables::write_to_shard() {
  if (of_shard_.empty()) {
    of_shard_ = keep_readable(backend_, {gradients_.elements()}, gradients_.type());
  }
  for_each_trained([&](size_t i, Trainable& trainable) { trainable.begin_gradient(part(of_shard_, i)); });
}

void Trainables::begin_exchanged_shard() { write_to_shard(); }
void Trainables::finish_exchanged_shard(Backend& backend) { complete_shard(backend); }

void Trainables::complete_shard(Backend& backend) {
  for_each_trained([&](size_t i, const Trainable&) { complete(backend, i); });
}

void Trainables::complete(Backend& backend, size_t weight) {
  Trainable& trainable = weights_.all()[weight].trainable();
  if (trainable.writes() == 0) {
    trainable.gradient_to_add_to(backend);
  }
  if (weights_.division(weight).kind == Division::Kind::shared_by_heads && !weights_.parts().is_whole()) {
    weights_.parts().sum(backend, trainable.gradient());
    (void)trainable.next_write();  // who waits for the last write waits for this
  }
}

void Trainables::finish_shard(Backend& backend) {
  complete_shard(backend);
  if (shards_ > 1) {
    for_each_held_range([&](int64_t first, int64_t count) {
      backend.add(of_shard_.view().column_range(first, count), gradients().column_range(first, count));
    });
  }
}

void Trainables::finish_update(Backend& backend) {
  finish_shard(backend);
  shards_ = 1;
  for_each_trained([&](size_t i, Trainable& trainable) { trainable.move_gradient(part(gradients_, i)); });
}

}  // namespace heed
