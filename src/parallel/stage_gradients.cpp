#include "parallel/stage_gradients.h"

namespace heed {
namespace {

View weight_in(const View& flat, int64_t offset, const Shape& shape) {
  return flat.column_range(offset, shape.elements()).regrouped(shape.rows(), shape.columns(), shape.columns());
}

}  // namespace

StageGradients::StageGradients(Backend& backend, Trainables& trainables, const StagePlan& plan, DType type,
                               StageExchange& exchange)
    : backend_(backend), trainables_(trainables), type_(type), exchange_(exchange) {
  const std::deque<Weight>& weights = trainables.weights().all();
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!trainables.has_gradient(i)) {
      continue;
    }
    const bool is_routed = plan.is_routed(weights[i].identity());
    if (is_routed && weights[i].use() == WeightUse::product_and_table) {
      table_ = static_cast<int64_t>(i);
    } else {
      (is_routed ? routed_ : own_).push_back(i);
    }
  }
  if (table_ >= 0) {
    open_.resize(static_cast<size_t>(plan.count()));
    writes_.resize(open_.size());
  }
}

View StageGradients::of_update(size_t weight) const {
  return weight_in(trainables_.gradients(), trainables_.offset(weight), trainables_.weights().all()[weight].shape());
}

View StageGradients::of_shard(size_t weight, int64_t shard) {
  if (exchange_.is_in_place(shard)) {
    return of_update(weight);
  }
  if (shard_.empty()) {
    shard_ = Tensor({trainables_.gradients().elements()}, trainables_.gradients().type());
  }
  return weight_in(shard_.view(), trainables_.offset(weight), trainables_.weights().all()[weight].shape());
}

View StageGradients::open_table(int64_t shard) {
  const auto table = static_cast<size_t>(table_);
  if (exchange_.is_in_place(shard)) {
    return of_update(table);
  }
  Tensor& open = open_[static_cast<size_t>(shard) % open_.size()];
  if (open.empty()) {
    open = Tensor(trainables_.weights().all()[table].shape(), trainables_.gradients().type());
  }
  return open.view();
}

// Finishes the exchange of the previous shard first: this one's gradients go to the same memory.
void StageGradients::begin(int64_t shard) {
  exchange_.finish();
  for (const size_t i : own_) {
    trainables_.weights().all()[i].trainable().begin_gradient(of_shard(i, shard));
  }
  if (table_ >= 0) {
    trainables_.weights().all()[static_cast<size_t>(table_)].trainable().begin_gradient(open_table(shard));
  }
}

void StageGradients::finish(int64_t shard) {
  complete(own_, shard);
  if (table_ >= 0) {
    writes_[static_cast<size_t>(shard) % writes_.size()] =
        trainables_.weights().all()[static_cast<size_t>(table_)].trainable().writes();
  }
}

void StageGradients::begin_routed(int64_t shard) {
  exchange_.finish();
  for (const size_t i : routed_) {
    trainables_.weights().all()[i].trainable().begin_gradient(of_shard(i, shard));
  }
  if (table_ >= 0) {
    Trainable& trainable = trainables_.weights().all()[static_cast<size_t>(table_)].trainable();
    trainable.continue_gradient(open_table(shard), writes_[static_cast<size_t>(shard) % writes_.size()]);
  }
}

void StageGradients::finish_routed(int64_t shard) { complete(routed_and_table(), shard); }

std::vector<size_t> StageGradients::routed_and_table() const {
  std::vector<size_t> weights = routed_;
  if (table_ >= 0) {
    weights.push_back(static_cast<size_t>(table_));
  }
  return weights;
}

void StageGradients::complete(const std::vector<size_t>& weights, int64_t shard) {
  std::vector<StageExchange::Complete> gradients;
  gradients.reserve(weights.size());
  for (const size_t i : weights) {
    trainables_.complete(backend_, i);
    const View gradient = trainables_.weights().all()[i].trainable().gradient();
    round(gradient);
    gradients.push_back({i, gradient});
  }
  exchange_.finish();
  exchange_.begin(gradients, shard);
}

void StageGradients::skip(int64_t shard) { skip(own_, shard); }
void StageGradients::skip_routed(int64_t shard) { skip(routed_and_table(), shard); }

void StageGradients::skip(const std::vector<size_t>& weights, int64_t shard) {
  std::vector<StageExchange::Complete> gradients;
  gradients.reserve(weights.size());
  for (const size_t i : weights) {
    gradients.push_back({i, {}});
  }
  exchange_.finish();
  exchange_.begin(gradients, shard);
}

void StageGradients::round(View gradient) {
  if (type_ == DType::f32) {
    return;
  }
  if (rounded_.elements() < gradient.elements()) {
    rounded_ = Tensor({gradient.elements()}, type_);
  }
  auto* const address = host_address(rounded_.view());
  const View rounded(address, type_, gradient.rows(), gradient.columns(), gradient.columns());
  backend_.copy(gradient, rounded);
  backend_.copy(rounded, gradient);
}

void StageGradients::discard() {
  shard_ = Tensor();
  for (Tensor& open : open_) {
    open = Tensor();
  }
}

void StageGradients::finish_update() {
  exchange_.finish();
  for (size_t i = 0; i < trainables_.weights().all().size(); ++i) {
    if (trainables_.has_gradient(i)) {
      trainables_.weights().all()[i].trainable().move_gradient(of_update(i));
    }
  }
}

}  // namespace heed
