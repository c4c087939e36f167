#include "optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/system/memory.h"
#include "kernels/host_copy.h"

namespace heed {
namespace {

View matrix_in(const View& flat, int64_t first, int64_t rows, int64_t columns) {
  if (flat.empty()) {
    return {};
  }
  return flat.column_range(first, rows * columns).regrouped(rows, columns, columns);
}

}  // namespace

void OptimizerConfig::validate() const {
  require<ConfigError>(beta1 >= 0.0 && beta1 < 1.0 && beta2 >= 0.0 && beta2 < 1.0, "optimizer",
                       "beta1 is {} and beta2 {}, expected at least 0 and below 1", beta1, beta2);
  require<ConfigError>(epsilon > 0.0, "optimizer", "epsilon is {}, expected above 0", epsilon);
  require<ConfigError>(momentum >= 0.0 && momentum < 1.0, "optimizer",
                       "momentum is {}, expected at least 0 and below 1", momentum);
  require<ConfigError>(orthogonalization == kOrthogonalizationSteps || orthogonalization == kFewOrthogonalizationSteps,
                       "optimizer", "orthogonalization is {}, expected {} or {} steps", orthogonalization,
                       kFewOrthogonalizationSteps, kOrthogonalizationSteps);
  require<ConfigError>(row_moments >= 0.0 && row_moments < 1.0, "optimizer",
                       "row_moments is {}, expected at least 0 and below 1", row_moments);
  require<ConfigError>(row_moments == 0.0 || kind == OptimizerKind::muon, "optimizer",
                       "row_moments are for \"muon\", but kind is \"{}\"",
                       kind == OptimizerKind::adam ? "adam" : "adamw");
  require<ConfigError>(kind != OptimizerKind::adam || cautious_decay == CautiousDecay::no, "optimizer",
                       "cautious_decay is for \"adamw\" and \"muon\": \"adam\" adds the decay to the gradient");
  require<ConfigError>(max_norm >= 0.0 && weight_decay >= 0.0, "optimizer",
                       "clip is {} and weight_decay {}, expected at least 0", max_norm, weight_decay);
}

Optimizer::Optimizer(Backend& backend, Trainables& trainables, const OptimizerConfig& config, SliceOwners owners)
    : trainables_(trainables),
      config_(config),
      owners_(std::move(owners)),
      first_moments_(backend.keep({trainables.masters().elements()}, backend.master_type())),
      second_moments_(backend.keep({trainables.masters().elements()}, backend.master_type())),
      squared_norms_(keep_readable(backend, {static_cast<int64_t>(owners_.slices().size())}, DType::f64)),
      squared_norm_(keep_readable(backend, {1}, DType::f64)),
      applied_(keep_readable(backend, {1}, DType::f64)) {
  config.validate();
  split_weights();
  own_norms_ = keep_readable(backend, {static_cast<int64_t>(own_slices_.size())}, DType::f64);
}

SliceOwners Optimizer::divide(const Trainables& trainables, const OptimizerConfig& config, RankOf own,
                              const SliceOwners::Holders& holders) {
  std::vector<bool> together;
  for (const Weight& weight : trainables.weights().all()) {
    together.push_back(config.kind == OptimizerKind::muon && is_hidden_matrix(weight));
  }
  return {trainables, together, own, holders};
}

bool Optimizer::is_of_muon(const Weight& weight) const {
  return config_.kind == OptimizerKind::muon && is_hidden_matrix(weight);
}

WeightDecay Optimizer::decay_kind() const {
  return config_.kind == OptimizerKind::adam            ? WeightDecay::coupled
         : config_.cautious_decay == CautiousDecay::yes ? WeightDecay::cautious
                                                        : WeightDecay::decoupled;
}

// Padding after a matrix of Muon's is not updated; after others it is, with zeros.
void Optimizer::split_weights() {
  const Weights& weights = trainables_.weights();
  for (size_t i = 0; i < owners_.slices().size(); ++i) {
    if (!owners_.is_own(i)) {
      continue;
    }
    const auto& [index, first, count] = owners_.slices()[i];
    const Weight& weight = weights.all()[index];
    own_slices_.push_back({first, count});
    if (is_of_muon(weight)) {
      if (first == trainables_.offset(index)) {
        leave_to_muon(weight, weights.initialization(index).parts, first);
      }
      continue;
    }
    const bool decays = config_.decay == DecayedWeights::all || weight.shape().rank() == 2;
    const bool is_last = first + count == trainables_.offset(index) + weight.shape().elements();
    leave_to_adam({first, is_last ? trainables_.end(index) - first : count, decays ? Decays::yes : Decays::no});
  }
}

void Optimizer::leave_to_muon(const Weight& weight, int64_t parts, int64_t first) {
  const int64_t rows = weight.shape()[0] / parts, columns = weight.shape()[1];
  for (int64_t part = 0; part < parts; ++part) {
    matrices_.push_back({first + part * rows * columns, rows, columns});
  }
}

// Neighbours that decay alike are one range.
void Optimizer::leave_to_adam(const ElementRange& range) {
  const bool goes_on = !adam_ranges_.empty() && adam_ranges_.back().decays == range.decays &&
                       adam_ranges_.back().first + adam_ranges_.back().count == range.first;
  if (goes_on) {
    adam_ranges_.back().count += range.count;
  } else {
    adam_ranges_.push_back(range);
  }
}

void Optimizer::update(Backend& backend, double learning_rate) {
  trainables_.finish_update(backend);
  measure(backend);
  step(backend, learning_rate);
}

void Optimizer::measure(Backend& backend) {
  if (owners_.owns_all()) {
    return backend.squared_norms(trainables_.gradients(), own_slices_, squared_norms_.view());
  }
  backend.squared_norms(trainables_.gradients(), own_slices_, own_norms_.view());
  int64_t next = 0;
  for (size_t i = 0; i < owners_.slices().size(); ++i) {
    if (owners_.is_own(i)) {
      backend.copy(own_norms_.view().column_range(next++, 1),
                   squared_norms_.view().column_range(static_cast<int64_t>(i), 1));
    }
  }
}

// Where ranks divide the matrices, what is divided counts on each rank, and the rest once.
void Optimizer::sum_norms(Backend& backend) {
  const Weights& weights = trainables_.weights();
  const Parts& parts = weights.parts();
  for (size_t i = 0; parts.index() > 0 && i < owners_.slices().size(); ++i) {
    if (!weights.is_divided(owners_.slices()[i].weight)) {
      squared_norms_.data<double>()[i] = 0.0;
    }
  }
  backend.sum(squared_norms_.view(), squared_norm_.view());
  if (parts.is_whole()) {
    return;
  }
  double total = 0.0;
  for (Tensor& norm : parts.gather(backend, squared_norm_.view())) {
    total += *norm.data<double>();
  }
  *squared_norm_.data<double>() = total;
}

void Optimizer::step(Backend& backend, double learning_rate) {
  sum_norms(backend);
  adam(backend, learning_rate);
  muon(backend, learning_rate);
  trainables_.begin_update();
}

void Optimizer::adam(Backend& backend, double learning_rate) {
  backend.adam({
      .weights = trainables_.masters(),
      .gradients = trainables_.gradients(),
      .first_moments = first_moments_.view(),
      .second_moments = second_moments_.view(),
      .copy = trainables_.copies(),
      .squared_norm = squared_norm_.view(),
      .applied = applied_.view(),
      .ranges = adam_ranges_,
      .learning_rate = learning_rate,
      .beta1 = config_.beta1,
      .beta2 = config_.beta2,
      .epsilon = config_.epsilon,
      .max_norm = config_.max_norm,
      .decay_kind = decay_kind(),
      .weight_decay = config_.weight_decay,
  });
}

void Optimizer::muon(Backend& backend, double learning_rate) {
  // Where there are fewer matrices than threads, all threads take part in each.
  if (std::ssize(matrices_) < backend.threads()) {
    for (const Matrix& matrix : matrices_) {
      muon(backend, matrix, learning_rate);
    }
    return;
  }
  backend.run_on_lanes(std::ssize(matrices_), [&](int64_t i, Backend& thread) {
    muon(thread, matrices_[static_cast<size_t>(i)], learning_rate);
  });
}

void Optimizer::muon(Backend& backend, const Matrix& matrix, double learning_rate) {
  const auto& [first, rows, columns] = matrix;
  const View copies = trainables_.copies();
  const DType type = copies.empty() ? trainables_.masters().type() : copies.type();
  const Tensor direction({rows, columns}, type, backend.arena());
  backend.muon_direction({.gradients = matrix_in(trainables_.gradients(), first, rows, columns),
                          .moments = matrix_in(first_moments_.view(), first, rows, columns),
                          .squared_norm = squared_norm_.view(),
                          .momentum = config_.momentum,
                          .max_norm = config_.max_norm,
                          .direction = direction.view()});
  orthogonalize(backend, direction.view(), config_.orthogonalization);
  Tensor factors;
  if (config_.row_moments > 0.0) {
    factors = Tensor({rows}, trainables_.masters().type(), backend.arena());
    // Adam's second moments of a matrix of Muon's are not in use.
    backend.muon_rows({.direction = direction.view(),
                       .moments = second_moments_.view().column_range(first, rows),
                       .squared_norm = squared_norm_.view(),
                       .kept = config_.row_moments,
                       .factors = factors.view()});
  }
  backend.muon_step({.weights = matrix_in(trainables_.masters(), first, rows, columns),
                     .copy = matrix_in(copies, first, rows, columns),
                     .direction = direction.view(),
                     .row_factors = factors.view(),
                     .squared_norm = squared_norm_.view(),
                     .learning_rate = learning_rate,
                     .scale = 0.2 * std::sqrt(static_cast<double>(std::max(rows, columns))),
                     .weight_decay = config_.weight_decay,
                     .decay_kind = decay_kind()});
}

void Optimizer::discard_others() {
  for (size_t i = 0; i < owners_.slices().size(); ++i) {
    if (!owners_.is_own(i)) {
      first_moments_.discard(owners_.slices()[i].first, owners_.slices()[i].count);
      second_moments_.discard(owners_.slices()[i].first, owners_.slices()[i].count);
    }
  }
}

int64_t Optimizer::resident_bytes() const {
  int64_t bytes = 0;
  for (const View& view :
       {first_moments_.view(), second_moments_.view(), trainables_.copies().empty() ? View() : trainables_.masters()}) {
    if (!view.empty()) {
      const int64_t all = view.elements() * size_of(view.type());
      bytes += view.device() == Device::cpu ? heed::resident_bytes(host_address(view), all) : all;
    }
  }
  return bytes;
}

int64_t Optimizer::updates() const { return static_cast<int64_t>(on_host(applied_)); }

double Optimizer::gradient_norm() const { return std::sqrt(on_host(squared_norm_)); }

double Optimizer::on_host(const Tensor& scalar) const {
  return *host<double>(HostCopy(trainables_.backend(), scalar.view()).view()).data;
}

}  // namespace heed
