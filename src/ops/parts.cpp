// With x_k the x of rank k, and n ranks:
//   to_parts:      y_k = x                        d_x = d_y_1 + ... + d_y_n
//   sum_of_parts:  y = x_1 + ... + x_n + b        d_x_k = d_y    d_b = sum over rows of d_y
// The whole x, y and their gradients are the same on all ranks. Saves nothing: a sum's x and y share their memory and
// their gradient.
#include "ops/parts.h"

#include <algorithm>

#include "kernels/calls/elements.h"
#include "kernels/calls/linear.h"
#include "ops/tape.h"
#include "ops/trainable.h"
#include "tensor/view_bytes.h"

namespace heed {
namespace {

// Below this, one message to each rank costs less than two.
constexpr int64_t kSmallSum = int64_t{64} << 10;

}  // namespace

std::vector<Tensor> Parts::gather(Backend& backend, ConstView own) const {
  std::vector<Tensor> all;
  all.reserve(static_cast<size_t>(count()));
  std::vector<Transfer> transfers;
  transfers.reserve(static_cast<size_t>(2 * count()));
  for (int rank = 0; rank < ranks_.count(); ++rank) {
    all.emplace_back(Shape{own.rows(), own.columns()}, own.type(), backend.arena());
    if (rank != ranks_.rank()) {
      transfers.push_back(ranks_.receive(rank, Channel::partial, bytes_of(all.back().view())));
    }
  }
  for (int rank = 0; rank < ranks_.count(); ++rank) {
    if (rank != ranks_.rank()) {
      transfers.push_back(ranks_.send(rank, Channel::partial, bytes_of(own)));
    }
  }
  backend.copy(own, all[static_cast<size_t>(index())].view());
  ranks_.wait_for_all(transfers);
  return all;
}

void Parts::sum(Backend& backend, View x, ConstView bias) const {
  if (x.elements() == 0) {
    return;
  }
  const int64_t bytes = x.elements() * size_of(x.type());
  if (count() <= 2 || bytes <= kSmallSum || x.rows() < count()) {
    sum_whole(backend, x, bias);
  } else {
    sum_by_rows(backend, x, bias);
  }
}

// Each rank has all parts, and adds them up.
void Parts::sum_whole(Backend& backend, View x, ConstView bias) const {
  const std::vector<Tensor> all = gather(backend, x);
  std::vector<ConstView> views(all.size());
  std::ranges::transform(all, views.begin(), &Tensor::view);
  backend.sum_parts({.parts = views, .bias = bias, .y = x});
}

// Each rank adds up some of the rows, and sends their sums to the others.
void Parts::sum_by_rows(Backend& backend, View x, ConstView bias) const {
  const PartRange own = share(x.rows());
  const auto rows_of = [&](int rank) {
    const PartRange rows = share_of(x.rows(), rank);
    return x.row_range(rows.first, rows.count);
  };
  std::vector<Tensor> received;
  std::vector<ConstView> views;
  std::vector<Transfer> transfers;
  received.reserve(static_cast<size_t>(count()));
  views.reserve(static_cast<size_t>(count()));
  transfers.reserve(static_cast<size_t>(2 * count()));
  for (int rank = 0; rank < ranks_.count(); ++rank) {
    if (rank == ranks_.rank()) {
      views.push_back(rows_of(rank));
    } else {
      received.emplace_back(Shape{own.count, x.columns()}, x.type(), backend.arena());
      views.push_back(received.back().view());
      transfers.push_back(ranks_.receive(rank, Channel::partial, bytes_of(received.back().view())));
      transfers.push_back(ranks_.send(rank, Channel::partial, bytes_of(rows_of(rank))));
    }
  }
  ranks_.wait_for_all(transfers);
  backend.sum_parts({.parts = views, .bias = bias, .y = rows_of(ranks_.rank())});
  for (int rank = 0; rank < ranks_.count(); ++rank) {
    if (rank != ranks_.rank()) {
      transfers.push_back(ranks_.receive(rank, Channel::partial, bytes_of(rows_of(rank))));
      transfers.push_back(ranks_.send(rank, Channel::partial, bytes_of(rows_of(ranks_.rank()))));
    }
  }
  ranks_.wait_for_all(transfers);
}

Var to_parts(Pass& pass, const Var& x, const Parts& parts) {
  if (parts.is_whole() || !pass.recording() || !x.wants_gradient()) {
    return x;
  }
  Var y = x.with_own_gradient();
  pass.tape().record(ToPartsOp{x, y, &parts});
  return y;
}

void ToPartsOp::backward(Backend& backend) {
  if (y.gradient().empty()) {
    return;
  }
  parts->sum(backend, y.gradient());
  if (x.gradient().empty()) {
    x.take_gradient_of(y);
  } else {
    backend.add(y.gradient(), x.gradient());
  }
}

Var sum_of_parts(Pass& pass, const Var& x, const Weight* bias, const Parts& parts) {
  if (bias != nullptr) {
    require(bias->shape().elements() == x.columns(), "sum of parts", "{} and a bias {}", x.value(), bias->shape());
  }
  parts.sum(pass.backend(), x.value(), bias == nullptr ? ConstView() : bias->vector());
  if (pass.recording() && bias != nullptr && bias->is_trained()) {
    Var y = x;
    y.want_gradient_only_if(true);
    pass.tape().record(SumOfPartsOp{y, bias});
  }
  return x;
}

void SumOfPartsOp::backward(Backend& backend) const {
  const ConstView d_y = y.gradient();
  if (d_y.empty()) {
    return;
  }
  Trainable& trainable = bias->trainable();
  backend.linear_weight_gradient(
      {.d_y = d_y, .x = d_y, .d_weight = {}, .d_bias = trainable.gradient(), .write = trainable.next_write()});
}

}  // namespace heed
