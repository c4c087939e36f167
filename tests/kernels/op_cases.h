// One case per op family: its operands, and what to call. The same case runs on any backend, with results of any type:
// on the reference in double, on a fast backend in its own types.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/backend_testing.h"
#include "kernels/calls/linear.h"
#include "kernels/calls/loss.h"
#include "kernels/calls/norm.h"
#include "kernels/calls/optimizer.h"
#include "kernels/calls/rows.h"

namespace heed::test {

inline Dropout shifted(Dropout dropout, int64_t rows) {
  dropout.first_row += static_cast<uint64_t>(rows);
  return dropout;
}

// The columns of a row operand such as tokens.
inline Guarded column_range(const Guarded& from, int64_t first, int64_t count) {
  if (from.empty()) {
    return {};
  }
  Guarded part(from.type(), 1, count);
  for (int64_t c = 0; c < count; ++c) {
    part.set(0, c, from.get(0, first + c));
  }
  return part;
}

// ---- linear ----

struct LinearCase {
  Guarded x, weight, bias, d_y;
  Activation activation = Activation::none;
  Dropout dropout;
  const PackedWeight* packed = nullptr;

  struct Result {
    Guarded y, before;
  };

  static LinearCase make(Types types, int64_t rows, int64_t in, int64_t out) {
    const double scale = 1.0 / std::sqrt(static_cast<double>(in));
    return {.x = random(types.storage, rows, in, 1, 1.0, {7, 1}),
            .weight = random(types.storage, out, in, 2, scale, {1, 5}),
            .bias = random(types.master, 1, out, 3),
            .d_y = random(types.storage, rows, out, 4, 1.0, {3, 9})};
  }
  LinearCase rows(int64_t first, int64_t count) const {
    LinearCase part = *this;
    part.x = x.rows(first, count);
    part.d_y = d_y.rows(first, count);
    part.dropout = shifted(dropout, first);
    return part;
  }

  Result forward(Backend& backend, Types types) const {
    Result result{Guarded(types.storage, x.rows(), weight.rows()), Guarded(types.storage, x.rows(), weight.rows())};
    backend.linear({.x = x.view(),
                    .weight = {weight.view(), packed},
                    .bias = bias.view(),
                    .activation = activation,
                    .dropout = dropout,
                    .y = result.y.view(),
                    .before = result.before.view()});
    return result;
  }
  Guarded d_before(Backend& backend, const Result& saved, Types types) const {
    Guarded d(types.storage, d_y.rows(), d_y.columns());
    backend.activation_backward({.activation = activation,
                                 .dropout = dropout,
                                 .y = saved.y.view(),
                                 .before = saved.before.view(),
                                 .d_y = d_y.view(),
                                 .d_before = d.view()});
    return d;
  }
  // d_x from the gradient of the product, which is d_y itself unless `d_product` is given.
  Guarded d_x(Backend& backend, Types types, double scale = 1.0, const Guarded& d_product = {}) const {
    Guarded d(types.storage, x.rows(), x.columns());
    backend.linear_input_gradient({.d_y = d_product.empty() ? d_y.view() : d_product.view(),
                                   .weight = {weight.view(), packed},
                                   .d_x = d.view(),
                                   .scale = scale});
    return d;
  }
  struct WeightResult {
    Guarded d_weight, d_bias;
  };
  WeightResult d_weight(Backend& backend, Types types, double scale = 1.0, const Guarded& d_product = {}) const {
    WeightResult d{Guarded(types.master, weight.rows(), weight.columns()), Guarded(types.master, 1, weight.rows())};
    backend.linear_weight_gradient({.d_y = d_product.empty() ? d_y.view() : d_product.view(),
                                    .x = x.view(),
                                    .d_weight = d.d_weight.view(),
                                    .d_bias = d.d_bias.view(),
                                    .scale = scale});
    return d;
  }
};

// ---- embedding ----

struct EmbeddingCase {
  Guarded tokens, table, position_rows, positions, type_rows, token_types, d_y;
  double scale = 1.0;
  Dropout dropout;
  const PackedWeight* packed = nullptr;  // the table

  static EmbeddingCase make(Types types, int64_t rows, int64_t vocabulary, int64_t model) {
    return {.tokens = random_integers(rows, vocabulary, 5),
            .table = random(types.master, vocabulary, model, 6),
            .position_rows = random_integers(rows, 9, 7),
            .positions = random(types.master, 9, model, 8),
            .type_rows = random_integers(rows, 2, 4),
            .token_types = random(types.master, 2, model, 3),
            .d_y = random(types.storage, rows, model, 9),
            .scale = 1.75};
  }
  EmbeddingCase rows(int64_t first, int64_t count) const {
    EmbeddingCase part = *this;
    part.tokens = column_range(tokens, first, count);
    part.position_rows = column_range(position_rows, first, count);
    part.type_rows = column_range(type_rows, first, count);
    part.d_y = d_y.rows(first, count);
    part.dropout = shifted(dropout, first);
    return part;
  }

  Guarded forward(Backend& backend, Types types) const {
    Guarded y(types.storage, tokens.columns(), table.columns());
    backend.embedding({.tokens = tokens.view(),
                       .table = {table.view(), packed},
                       .scale = scale,
                       .position_rows = position_rows.view(),
                       .positions = {positions.view()},
                       .type_rows = type_rows.view(),
                       .types = {token_types.view()},
                       .dropout = dropout,
                       .y = y.view()});
    return y;
  }
  struct Result {
    Guarded d_table, d_positions, d_types;
  };
  // On top of what the tables themselves hold, so that what is added to is not zero.
  Result backward(Backend& backend, Types types) const {
    Result d{converted(table, types.master), converted(positions, types.master), converted(token_types, types.master)};
    backend.embedding_backward({.tokens = tokens.view(),
                                .scale = scale,
                                .position_rows = position_rows.view(),
                                .type_rows = type_rows.view(),
                                .dropout = dropout,
                                .d_y = d_y.view(),
                                .d_table = d.d_table.view(),
                                .d_positions = d.d_positions.view(),
                                .d_types = d.d_types.view()});
    return d;
  }
};

// ---- selected rows ----

struct SelectRowsCase {
  Guarded x, rows, d_y;

  // As many rows as x has: some occur several times, some never.
  static SelectRowsCase make(Types types, int64_t rows, int64_t columns) {
    return {.x = random(types.storage, rows, columns, 30, 1.0, {7, 1}),
            .rows = random_integers(rows, rows, 31),
            .d_y = random(types.storage, rows, columns, 32, 1.0, {3, 9})};
  }

  Guarded forward(Backend& backend, Types types) const {
    Guarded y(types.storage, rows.columns(), x.columns());
    backend.select_rows({.x = x.view(), .rows = rows.view(), .y = y.view()});
    return y;
  }
  // With Write::add, on top of x's own values.
  Guarded backward(Backend& backend, Types types, Write write = Write::overwrite) const {
    Guarded d_x = write == Write::add ? converted(x, types.storage) : Guarded(types.storage, x.rows(), x.columns());
    backend.select_rows_backward({.d_y = d_y.view(), .rows = rows.view(), .d_x = d_x.view(), .write = write});
    return d_x;
  }
};

// ---- pooled sequences ----

struct PoolCase {
  Segments segments;
  Pooling kind = Pooling::mean;
  Guarded x, d_y;

  static PoolCase make(Types types, Pooling kind, const std::vector<int64_t>& lengths, int64_t columns) {
    PoolCase c{.segments = Segments(lengths), .kind = kind};
    c.x = random(types.storage, c.segments.rows(), columns, 40, 1.0, {7, 1});
    c.d_y = random(types.storage, c.segments.count(), columns, 41, 1.0, {3, 9});
    return c;
  }

  struct Result {
    Guarded y, chosen;
  };
  Result forward(Backend& backend, Types types) const {
    Result result{Guarded(types.storage, segments.count(), x.columns()), {}};
    if (kind == Pooling::max) {
      result.chosen = Guarded(DType::i32, segments.count(), x.columns());
    }
    backend.pool(
        {.segments = &segments, .kind = kind, .x = x.view(), .y = result.y.view(), .chosen = result.chosen.view()});
    return result;
  }
  // With Write::add, on top of x's own values.
  Guarded backward(Backend& backend, Types types, Write write) const {
    Guarded d_x = write == Write::add ? converted(x, types.storage) : Guarded(types.storage, x.rows(), x.columns());
    const Guarded chosen = forward(backend, types).chosen;
    backend.pool_backward({.segments = &segments,
                           .kind = kind,
                           .chosen = chosen.view(),
                           .d_y = d_y.view(),
                           .d_x = d_x.view(),
                           .write = write});
    return d_x;
  }
};

// ---- loss of labels ----

struct LabelLossCase {
  LabelLossKind kind = LabelLossKind::sigmoid;
  Guarded logits, targets;

  static LabelLossCase make(Types types, LabelLossKind kind, int64_t rows, int64_t columns) {
    LabelLossCase c{.kind = kind,
                    .logits = random(types.storage, rows, columns, 42, 4.0, {7, 1}),
                    .targets = random(types.master, rows, columns, 43)};
    if (kind == LabelLossKind::sigmoid) {
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t column = 0; column < columns; ++column) {
          c.targets.set(r, column, c.targets.get(r, column) > 0.0 ? 1.0 : 0.0);
        }
      }
    }
    return c;
  }

  struct Result {
    Guarded losses, d_logits;
  };
  Result run(Backend& backend, Types types) const {
    const Guarded wanted = converted(targets, types.master);
    Result result{Guarded(types.master, logits.rows(), 2), Guarded(types.storage, logits.rows(), logits.columns())};
    backend.label_loss({.kind = kind,
                        .logits = logits.view(),
                        .targets = wanted.view(),
                        .losses = result.losses.view(),
                        .d_logits = result.d_logits.view()});
    return result;
  }
};

// ---- add and norm ----

struct AddNormCase {
  NormKind kind = NormKind::layer;
  Guarded residual, branch, gain, bias, d_normed, d_sum;
  Dropout dropout;
  double epsilon = 1e-5;
  int64_t groups = 1;
  NormGain gain_form = NormGain::plain;

  struct Result {
    Guarded sum, normed, statistics;
  };

  // A norm of each group of columns.
  static AddNormCase of_groups(Types types, NormKind kind, int64_t rows, int64_t groups, int64_t columns) {
    AddNormCase c = make(types, kind, rows, groups * columns);
    const AddNormCase narrow = make(types, kind, rows, columns);
    c.branch = {};
    c.gain = narrow.gain;
    c.bias = narrow.bias;
    c.groups = groups;
    return c;
  }

  static AddNormCase make(Types types, NormKind kind, int64_t rows, int64_t columns) {
    AddNormCase c{.kind = kind,
                  .residual = random(types.storage, rows, columns, 10),
                  .branch = random(types.storage, rows, columns, 11, 0.5, {1, 2}),
                  .gain = random(types.master, 1, columns, 12),
                  .bias = random(types.master, 1, columns, 13),
                  .d_normed = random(types.storage, rows, columns, 14, 1.0, {2, 7}),
                  .d_sum = random(types.storage, rows, columns, 15)};
    if (kind == NormKind::rms) {
      c.bias = {};
    }
    return c;
  }
  AddNormCase rows(int64_t first, int64_t count) const {
    AddNormCase part = *this;
    for (Guarded* operand : {&part.residual, &part.branch, &part.d_normed, &part.d_sum}) {
      *operand = operand->rows(first, count);
    }
    part.dropout = shifted(dropout, first);
    return part;
  }

  Result forward(Backend& backend, Types types) const {
    Result result;
    if (!branch.empty()) {
      result.sum = Guarded(types.storage, residual.rows(), residual.columns());
    }
    result.normed = Guarded(types.storage, residual.rows(), residual.columns());
    result.statistics = Guarded(types.master, residual.rows(), 2 * groups);
    backend.add_norm({.kind = kind,
                      .gain_form = gain_form,
                      .groups = groups,
                      .residual = residual.view(),
                      .branch = branch.view(),
                      .dropout = dropout,
                      .gain = gain.view(),
                      .bias = bias.view(),
                      .epsilon = epsilon,
                      .sum = result.sum.view(),
                      .normed = result.normed.view(),
                      .statistics = result.statistics.view()});
    return result;
  }
  struct Gradients {
    Guarded d_residual, d_branch, d_gain, d_bias;
  };
  // d_gain and d_bias are added to the gain's and the bias's own values; d_residual, with Write::add, to the
  // residual's.
  Gradients backward(Backend& backend, const Result& saved, Types types, Write write = Write::overwrite) const {
    Gradients d{.d_gain = converted(gain, types.master), .d_bias = converted(bias, types.master)};
    d.d_residual = write == Write::add ? converted(residual, types.storage)
                                       : Guarded(types.storage, residual.rows(), residual.columns());
    if (!branch.empty()) {
      d.d_branch = Guarded(types.storage, residual.rows(), residual.columns());
    }
    backend.add_norm_backward({.kind = kind,
                               .gain_form = gain_form,
                               .groups = groups,
                               .sum = branch.empty() ? residual.view() : saved.sum.view(),
                               .statistics = saved.statistics.view(),
                               .gain = gain.view(),
                               .dropout = dropout,
                               .d_normed = d_normed.view(),
                               .d_sum = d_sum.view(),
                               .d_residual = d.d_residual.view(),
                               .write_residual = write,
                               .d_branch = d.d_branch.view(),
                               .d_gain = d.d_gain.view(),
                               .d_bias = d.d_bias.view()});
    return d;
  }
};

// ---- gate ----

struct GateCase {
  Activation activation = Activation::silu;
  Guarded x, d_y;
  Dropout dropout;

  static GateCase make(Types types, Activation activation, int64_t rows, int64_t inner) {
    return {.activation = activation,
            .x = random(types.storage, rows, 2 * inner, 16, 1.5),
            .d_y = random(types.storage, rows, inner, 17, 1.0, {1, 1})};
  }
  GateCase rows(int64_t first, int64_t count) const {
    return {activation, x.rows(first, count), d_y.rows(first, count), shifted(dropout, first)};
  }

  Guarded forward(Backend& backend, Types types) const {
    Guarded y(types.storage, x.rows(), x.columns() / 2);
    backend.gate({.activation = activation, .x = x.view(), .dropout = dropout, .y = y.view()});
    return y;
  }
  Guarded backward(Backend& backend, Types types) const {
    Guarded d_x(types.storage, x.rows(), x.columns());
    backend.gate_backward(
        {.activation = activation, .x = x.view(), .dropout = dropout, .d_y = d_y.view(), .d_x = d_x.view()});
    return d_x;
  }
};

// ---- loss ----

struct LossCase {
  Guarded x, weight, bias, targets;
  double smoothing = 0.1, cap = 0.0;
  const PackedWeight* packed = nullptr;

  struct Result {
    Guarded losses, d_logits;
  };

  // Every fourth target is ignored.
  static LossCase make(Types types, int64_t rows, int64_t in, int64_t vocabulary) {
    LossCase c{.x = random(types.storage, rows, in, 18),
               .weight = random(types.storage, vocabulary, in, 19, 2.0 / std::sqrt(static_cast<double>(in)), {1, 5}),
               .bias = random(types.master, 1, vocabulary, 20),
               .targets = random_integers(rows, vocabulary, 21)};
    for (int64_t r = 3; r < rows; r += 4) {
      c.targets.set(0, r, -1.0);
    }
    return c;
  }
  LossCase rows(int64_t first, int64_t count) const {
    LossCase part = *this;
    part.x = x.rows(first, count);
    part.targets = column_range(targets, first, count);
    return part;
  }

  Result forward(Backend& backend, Types types) const {
    Result result{Guarded(types.master, x.rows(), 2), Guarded(types.storage, x.rows(), weight.rows())};
    backend.output_loss({.x = x.view(),
                         .weight = {weight.view(), packed},
                         .bias = bias.view(),
                         .targets = targets.view(),
                         .smoothing = smoothing,
                         .cap = cap,
                         .losses = result.losses.view(),
                         .d_logits = result.d_logits.view()});
    return result;
  }
  // The loss of given logits: x itself, whose columns are the vocabulary.
  Result of_logits(Backend& backend, Types types) const {
    Result result{Guarded(types.master, x.rows(), 2), Guarded(types.storage, x.rows(), x.columns())};
    backend.cross_entropy({.logits = x.view(),
                           .targets = targets.view(),
                           .smoothing = smoothing,
                           .losses = result.losses.view(),
                           .d_logits = result.d_logits.view()});
    return result;
  }
  // The same against a teacher's distribution.
  Result of_teacher(Backend& backend, Types types, const Guarded& teacher, double temperature, double share) const {
    Result result{Guarded(types.master, x.rows(), 2), Guarded(types.storage, x.rows(), x.columns())};
    backend.distil_loss({.logits = x.view(),
                         .teacher = teacher.view(),
                         .targets = targets.view(),
                         .smoothing = smoothing,
                         .cap = cap,
                         .temperature = temperature,
                         .weight = share,
                         .losses = result.losses.view(),
                         .d_logits = result.d_logits.view()});
    return result;
  }
  Guarded log_probs(Backend& backend, Types types) const {
    Guarded result(types.master, x.rows(), x.columns());
    backend.log_softmax(x.view(), result.view());
    return result;
  }
};

// ---- Adam ----

struct AdamCase {
  Guarded weights, gradients, first_moments, second_moments, copy, squared_norm, applied;
  AdamSweep settings;  // everything but the views; no ranges: all elements

  static AdamCase make(Types types, int64_t n) {
    AdamCase c{.weights = random(types.master, 1, n, 22),
               .gradients = random(types.master, 1, n, 23),
               .first_moments = random(types.master, 1, n, 24, 0.1),
               .second_moments = random(types.master, 1, n, 25, 0.1),
               .copy = Guarded(DType::bf16, 1, n),
               .squared_norm = Guarded(DType::f64, 1, 1, kTight),
               .applied = Guarded(DType::f64, 1, 1, kTight),
               .settings = {.learning_rate = 0.01, .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-8}};
    for (int64_t i = 0; i < n; ++i) {
      c.second_moments.set(0, i, std::abs(c.second_moments.get(0, i)));
    }
    c.squared_norm.set(0, 0, 9.0);
    c.applied.set(0, 0, 2.0);
    return c;
  }
  AdamCase cloned(Types types) const {
    AdamCase c = *this;
    for (Guarded* operand : {&c.weights, &c.gradients, &c.first_moments, &c.second_moments}) {
      *operand = converted(*operand, types.master);
    }
    c.copy = converted(copy, copy.type());
    c.applied = converted(applied, applied.type());
    return c;
  }

  // In place.
  void step(Backend& backend) const {
    const ElementRange all{0, weights.columns()};
    AdamSweep call = settings;
    if (call.ranges.empty()) {
      call.ranges = {&all, 1};
    }
    call.weights = weights.view();
    call.gradients = gradients.view();
    call.first_moments = first_moments.view();
    call.second_moments = second_moments.view();
    call.copy = copy.view();
    call.squared_norm = squared_norm.view();
    call.applied = applied.view();
    backend.adam(call);
  }
};

struct MuonCase {
  Guarded weights, gradients, moments, copy, direction, squared_norm;
  double max_norm = 0.0;
  WeightDecay decay_kind = WeightDecay::decoupled;
  Guarded row_moments = {}, row_factors = {};  // both, or neither

  static MuonCase make(Types types, int64_t rows, int64_t columns) {
    MuonCase c{.weights = random(types.master, rows, columns, 22, 1.0, kTight),
               .gradients = random(types.master, rows, columns, 23, 1.0, kTight),
               .moments = random(types.master, rows, columns, 24, 1.0, kTight),
               .copy = Guarded(DType::bf16, rows, columns, kTight),
               .direction = Guarded(types.storage, rows, columns, kTight),
               .squared_norm = Guarded(DType::f64, 1, 1, kTight)};
    c.squared_norm.set(0, 0, 9.0);
    return c;
  }
  MuonCase cloned(Types types) const {
    MuonCase c = *this;
    for (Guarded* operand : {&c.weights, &c.gradients, &c.moments}) {
      *operand = converted(*operand, types.master, kTight);
    }
    c.copy = Guarded(DType::bf16, copy.rows(), copy.columns(), kTight);
    c.direction = Guarded(types.storage, direction.rows(), direction.columns(), kTight);
    if (by_rows()) {
      c.row_moments = converted(row_moments, types.master, kTight);
      c.row_factors = Guarded(types.master, 1, direction.rows(), kTight);
    }
    return c;
  }
  bool by_rows() const { return row_moments.rows() > 0; }
  void set_row_moments(Types types) {
    row_moments = random(types.master, 1, direction.rows(), 25, 1.0, kTight);
    for (int64_t r = 0; r < direction.rows(); ++r) {
      row_moments.set(0, r, std::abs(row_moments.get(0, r)));
    }
    row_factors = Guarded(types.master, 1, direction.rows(), kTight);
  }

  // In place.
  void run(Backend& backend) const {
    backend.muon_direction({.gradients = gradients.view(),
                            .moments = moments.view(),
                            .squared_norm = squared_norm.view(),
                            .momentum = 0.9,
                            .max_norm = max_norm,
                            .direction = direction.view()});
    if (by_rows()) {
      backend.muon_rows({.direction = direction.view(),
                         .moments = row_moments.view(),
                         .squared_norm = squared_norm.view(),
                         .kept = 0.75,
                         .factors = row_factors.view()});
    }
    backend.muon_step({.weights = weights.view(),
                       .copy = copy.view(),
                       .direction = direction.view(),
                       .row_factors = by_rows() ? row_factors.view() : View(),
                       .squared_norm = squared_norm.view(),
                       .learning_rate = 0.1,
                       .scale = 2.0,
                       .weight_decay = 0.5,
                       .decay_kind = decay_kind});
  }
};

}  // namespace heed::test
