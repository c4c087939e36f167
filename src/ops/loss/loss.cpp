// z = x W^T + b    p = softmax(z)    q = (1 - s) onehot(target) + s / V    loss = lse(z) - q.z
//
// With the upstream gradient u, one number for all rows, which the tape knows before forward:
//   d_z = u (p - q)    d_x = d_z W    d_W = d_z^T x    d_b = sum over rows of d_z
// With a cap, y = cap tanh(z / cap) takes the place of z in p and in the loss, and d_z = u (p - q) (1 - (y / cap)^2).
// output_loss computes all of it in forward, a block of rows at a time, while the block's p - q is in memory, and saves
// only d_x: neither the logits of all rows nor their gradients ever exist. A packed W of a base is unpacked once for all
// blocks. cross_entropy, whose logits exist already, saves p - q.
// Where ranks divide the vocabulary, each has some columns of z, and d_x = the sum over the ranks of d_z W. Of a block
// of rows they exchange the maximum, the sum of e^(z - maximum), the sum of z and z[target], four numbers for each row.
// A student's loss, against a teacher's distribution p at the temperature T, with r = softmax(z / T):
//   loss = w T^2 KL(p || r) + (1 - w) (lse(z) - q.z)    d_z = u (w T (r - p) + (1 - w) (softmax(z) - q))
// The teacher's logits too are there for a block of rows at a time, and only d_x is saved.
#include "ops/loss/loss.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rounding.h"
#include "kernels/calls/elements.h"
#include "kernels/calls/linear.h"
#include "kernels/calls/loss.h"
#include "kernels/calls/rows.h"
#include "ops/loss/lesson.h"
#include "ops/tape.h"
#include "ops/unpacked_weight.h"

namespace heed {
namespace {

void require_targets(const Targets& targets, int64_t rows, int64_t vocabulary, Smoothing smoothing,
                     std::string_view where) {
  require(targets.size() == rows, where, "{} rows for {} targets", rows, targets.size());
  require(smoothing.value >= 0.0F && smoothing.value < 1.0F, where, "smoothing {} is outside [0, 1)", smoothing.value);
  for (int64_t r = 0; r < rows; ++r) {
    const int32_t target = targets.ids()[static_cast<size_t>(r)];
    require(target >= Targets::kIgnored && target < vocabulary, where,
            "target {} in row {} is outside the vocabulary of {}", target, r, vocabulary);
  }
}

// The maximum size of a block's p - q: one block for 2,048 tokens and a vocabulary of 8,000 in either precision, so
// that weight gradients are read and written once; 262 rows in bf16, or 131 in f32, for a vocabulary of 128,000.
constexpr int64_t kBlockBytes = int64_t{64} << 20;
constexpr int64_t kMinBlockRows = 48;

// A larger weight is multiplied in parts, since backends pack what they multiply.
constexpr int64_t kPartBytes = int64_t{64} << 20;

int64_t rows_multiplied_at_once(const WeightView& weight) {
  return std::max<int64_t>(64, kPartBytes / (weight.matrix.columns() * 4) / 64 * 64);
}

// d_x = scale * d_z W. Over a large vocabulary, partial sums are in the master type.
void input_gradient(const Pass& pass, ConstView d_z, const WeightView& weight, double scale, View d_x) {
  Backend& backend = pass.backend();
  const int64_t vocabulary = weight.matrix.rows();
  const int64_t part = rows_multiplied_at_once(weight);
  if (vocabulary <= part) {
    backend.linear_input_gradient({.d_y = d_z, .weight = weight, .d_x = d_x, .scale = scale});
    return;
  }
  const Tensor sums = pass.allocate_master({d_x.rows(), d_x.columns()});
  for (int64_t first = 0; first < vocabulary; first += part) {
    const int64_t count = std::min(part, vocabulary - first);
    backend.linear_input_gradient({.d_y = d_z.column_range(first, count),
                                   .weight = {weight.matrix.row_range(first, count)},
                                   .d_x = sums.view(),
                                   .write = first == 0 ? Write::overwrite : Write::add,
                                   .scale = scale});
  }
  backend.copy(sums.view(), d_x);
}

// The rows to be projected, their targets, and where to write their losses.
struct LossRows {
  ConstView x;
  bool wants_gradient;  // of x
  std::span<const int32_t> targets;
  View losses;
};

struct Projection {
  LinearWeights output;
  WeightView weight;  // the output's, as products read it
  LossOptions options;
};

// While recording: adds the gradients of the weights by a block of rows, and writes that of the rows if they want one.
void add_gradients(const Pass& pass, const Projection& projection, ConstView d_z, ConstView x, View d_x) {
  if (!pass.recording()) {
    return;
  }
  const double scale = pass.tape().loss_scale() * projection.options.weight;
  linear_weight_gradient(pass.backend(), projection.output, d_z, x, scale);
  if (!d_x.empty()) {
    input_gradient(pass, d_z, projection.weight, scale, d_x);
  }
}

// Computes the losses of all rows. While recording, also the gradients of their sum, times the tape's scale: adds those
// of the weights, block by block, and returns that of x.
Tensor project_whole(const Pass& pass, const LossRows& rows, const Projection& projection) {
  const LinearWeights& output = projection.output;
  Backend& backend = pass.backend();
  const int64_t count = rows.x.rows(), vocabulary = output.weight->shape()[0];
  const int64_t block_rows = rows_of_loss_block({count, vocabulary}, pass.storage());
  const Tensor targets = pass.indices(rows.targets);
  Tensor d_x, d_logits;
  if (pass.recording() && rows.wants_gradient) {
    d_x = pass.allocate({count, rows.x.columns()});
  }
  if (pass.recording()) {
    d_logits = pass.allocate({block_rows, vocabulary});
  }
  for (int64_t first = 0; first < count; first += block_rows) {
    const int64_t length = std::min(block_rows, count - first);
    const ConstView x = rows.x.row_range(first, length);
    const View d_z = pass.recording() ? d_logits.view().row_range(0, length) : View();
    backend.output_loss({
        .x = x,
        .weight = projection.weight,
        .bias = output.bias == nullptr ? ConstView() : output.bias->vector(),
        .targets = targets.view().column_range(first, length),
        .smoothing = static_cast<double>(projection.options.smoothing.value),
        .cap = projection.options.cap.value,
        .losses = rows.losses.row_range(first, length),
        .d_logits = d_z,
    });
    add_gradients(pass, projection, d_z, x, d_x.empty() ? View() : d_x.view().row_range(first, length));
  }
  return d_x;
}

// z = x W^T + b, perhaps capped, of the columns that this rank has.
void own_logits(Backend& backend, ConstView x, const Projection& projection, View logits) {
  const WeightView& weight = projection.weight;
  const ConstView bias = projection.output.bias == nullptr ? ConstView() : projection.output.bias->vector();
  const int64_t part = rows_multiplied_at_once(weight);
  for (int64_t first = 0; first < logits.columns(); first += part) {
    const int64_t count = std::min(part, logits.columns() - first);
    backend.linear({.x = x,
                    .weight = {weight.matrix.row_range(first, count)},
                    .bias = bias.empty() ? bias : bias.column_range(first, count),
                    .y = logits.column_range(first, count)});
  }
  if (projection.options.cap.active()) {
    backend.soft_cap({logits, projection.options.cap.value});
  }
}

// The same where ranks divide the vocabulary: for each block, each rank sums up its own logits' exponentials,
// all ranks exchange those sums, and each goes on with the gradient of its logits. d_x is the sum over the ranks.
Tensor project_divided(const Pass& pass, const LossRows& rows, const Projection& projection) {
  const LinearWeights& output = projection.output;
  const DividedVocabulary& divided = projection.options.divided;
  Backend& backend = pass.backend();
  const int64_t count = rows.x.rows(), own = output.weight->shape()[0];
  const int64_t most = divided.parts().share_of(divided.tokens(own), divided.parts().count() - 1).count;
  const int64_t block_rows = rows_of_loss_block({count, most}, backend.master_type());  // the same on all ranks
  const Tensor targets = pass.indices(divided.own_rows(rows.targets));
  const Tensor logits = pass.allocate_master({block_rows, own}), sums = pass.allocate_master({block_rows, 4});
  const bool in_place = pass.storage() == logits.type();
  Tensor d_x, d_logits;
  if (pass.recording() && rows.wants_gradient) {
    d_x = pass.allocate({count, rows.x.columns()});
  }
  if (pass.recording() && !in_place) {
    d_logits = pass.allocate({block_rows, own});
  }
  for (int64_t first = 0; first < count; first += block_rows) {
    const int64_t length = std::min(block_rows, count - first);
    const ConstView x = rows.x.row_range(first, length);
    const View z = logits.view().row_range(0, length);
    const View d_z = !pass.recording() ? View() : in_place ? z : d_logits.view().row_range(0, length);
    const ConstView own_targets = targets.view().column_range(first, length);
    const View own_sums = sums.view().row_range(0, length);
    own_logits(backend, x, projection, z);
    backend.logit_sums({.logits = z, .targets = own_targets, .sums = own_sums});
    const std::vector<Tensor> all = divided.parts().gather(backend, own_sums);
    std::vector<ConstView> all_sums(all.size());
    std::ranges::transform(all, all_sums.begin(), &Tensor::view);
    backend.divided_loss({
        .logits = z,
        .targets = own_targets,
        .sums = all_sums,
        .vocabulary = divided.tokens(own),
        .smoothing = static_cast<double>(projection.options.smoothing.value),
        .cap = projection.options.cap.value,
        .losses = rows.losses.row_range(first, length),
        .d_logits = d_z,
    });
    add_gradients(pass, projection, d_z, x, d_x.empty() ? View() : d_x.view().row_range(first, length));
  }
  if (!d_x.empty()) {
    divided.parts().sum(backend, d_x.view());
  }
  return d_x;
}

// The same against a teacher's distribution.
Tensor project_taught(const Pass& pass, const LossRows& rows, const Projection& projection, const Lesson& lesson) {
  const LinearWeights& output = projection.output;
  Backend& backend = pass.backend();
  const int64_t count = rows.x.rows(), vocabulary = output.weight->shape()[0];
  require(lesson.x.rows() == count && lesson.output.weight->shape()[0] == vocabulary, "output_loss",
          "a lesson of {} rows over {} tokens for {} rows over {}", lesson.x.rows(), lesson.output.weight->shape()[0],
          count, vocabulary);
  const int64_t block_rows = rows_of_loss_block({count, vocabulary}, backend.master_type());
  const Tensor targets = pass.indices(rows.targets);
  const Tensor logits = pass.allocate_master({block_rows, vocabulary});
  const bool in_place = pass.storage() == logits.type();
  Tensor d_x, d_logits;
  if (pass.recording() && rows.wants_gradient) {
    d_x = pass.allocate({count, rows.x.columns()});
  }
  if (pass.recording() && !in_place) {
    d_logits = pass.allocate({block_rows, vocabulary});
  }
  Pass reading = Pass::infer(backend, pass.storage());
  for (int64_t first = 0; first < count; first += block_rows) {
    const int64_t length = std::min(block_rows, count - first);
    const ConstView x = rows.x.row_range(first, length);
    const View z = logits.view().row_range(0, length);
    const View d_z = !pass.recording() ? View() : in_place ? z : d_logits.view().row_range(0, length);
    own_logits(backend, x, projection, z);
    const Var taught_rows(pass.allocate({length, lesson.x.columns()}, lesson.x.type()), 0);
    backend.copy(lesson.x.value().row_range(first, length), taught_rows.value());
    const Logits taught = output_logits(reading, Hidden(taught_rows), lesson.output, lesson.cap);
    backend.distil_loss({
        .logits = z,
        .teacher = taught.var().value(),
        .targets = targets.view().column_range(first, length),
        .smoothing = static_cast<double>(projection.options.smoothing.value),
        .cap = projection.options.cap.value,
        .temperature = lesson.temperature,
        .weight = lesson.weight,
        .losses = rows.losses.row_range(first, length),
        .d_logits = d_z,
    });
    add_gradients(pass, projection, d_z, x, d_x.empty() ? View() : d_x.view().row_range(first, length));
  }
  return d_x;
}

Tensor project(const Pass& pass, const LossRows& rows, const Projection& projection) {
  if (pass.learned() != nullptr) {
    return project_taught(pass, rows, projection, *pass.learned());
  }
  return projection.options.divided.is_divided() ? project_divided(pass, rows, projection)
                                                 : project_whole(pass, rows, projection);
}

std::vector<int32_t> counted_rows(const Targets& targets) {
  std::vector<int32_t> rows;
  for (int64_t r = 0; r < targets.size(); ++r) {
    if (targets.ids()[static_cast<size_t>(r)] != Targets::kIgnored) {
      rows.push_back(static_cast<int32_t>(r));
    }
  }
  return rows;
}

// The rows that are not ignored, gathered, so that the others are not projected.
class SelectedRows {
 public:
  SelectedRows(const Pass& pass, const Var& x, const Targets& targets, std::span<const int32_t> rows)
      : wants_gradient_(x.wants_gradient()),
        indices_(pass.indices(rows)),
        x_(pass.allocate({static_cast<int64_t>(rows.size()), x.columns()}, x.type())),
        losses_(pass.allocate_master({static_cast<int64_t>(rows.size()), 2})) {
    pass.backend().select_rows({.x = x.value(), .rows = indices_.view(), .y = x_.view()});
    for (const int32_t row : rows) {
      targets_.push_back(targets.ids()[static_cast<size_t>(row)]);
    }
  }

  LossRows rows() const { return {x_.view(), wants_gradient_, targets_, losses_.view()}; }
  // Back to their rows; the other rows get zeros.
  void spread_losses(Backend& backend, View losses) const {
    backend.select_rows_backward({.d_y = losses_.view(), .rows = indices_.view(), .d_x = losses});
  }

 private:
  bool wants_gradient_;
  Tensor indices_, x_, losses_;
  std::vector<int32_t> targets_;
};

// What a teacher predicts for the rows that count.
Var lesson_rows(const Pass& pass, const Var& x, const Targets& targets, std::span<const int32_t> counted) {
  if (static_cast<int64_t>(counted.size()) == x.rows()) {
    return x;
  }
  const SelectedRows selected(pass, x, targets, counted);
  const LossRows rows = selected.rows();
  Var kept(pass.allocate({rows.x.rows(), rows.x.columns()}, x.type()), 0);
  pass.backend().copy(rows.x, kept.value());
  return kept;
}

}  // namespace

double smoothed_target_entropy(int64_t vocabulary, Smoothing smoothing) {
  const double s = static_cast<double>(smoothing.value);
  const double elsewhere = s / static_cast<double>(vocabulary);
  const double at_target = 1.0 - s + elsewhere;
  const double rest = static_cast<double>(vocabulary - 1);
  return -(at_target * std::log(at_target) + (elsewhere > 0.0 ? rest * elsewhere * std::log(elsewhere) : 0.0));
}

ConstView TokenLosses::on_host() const {
  if (losses_->device() != Device::cpu) {
    auto copy = std::make_shared<Tensor>(losses_->shape(), losses_->type());
    backend_->copy(losses_->view(), copy->view());
    losses_ = std::move(copy);
  }
  return losses_->view();
}

double TokenLosses::at(int64_t row, int64_t column) const {
  const ConstView view = on_host();
  return view.type() == DType::f64 ? host<double>(view)(row, column)
                                   : static_cast<double>(host<float>(view)(row, column));
}

double TokenLosses::total(int64_t column) const {
  double sum = 0.0;
  for (int64_t row = 0; row < rows(); ++row) {
    sum += at(row, column);
  }
  return sum;
}

double TokenLosses::total_divergence() const {
  return total_smoothed() -
         share_of_targets_ * static_cast<double>(counted_) * smoothed_target_entropy(vocabulary_, smoothing_);
}

int64_t rows_of_loss_block(const LogitsShape& logits, DType storage) {
  const int64_t max_rows = std::max(kMinBlockRows, kBlockBytes / (logits.vocabulary * size_of(storage)));
  const int64_t blocks = std::max<int64_t>(1, ceil_div(logits.rows, max_rows));
  return ceil_div(logits.rows, blocks);
}

TokenLosses output_loss(Pass& pass, const Hidden& x, LinearWeights output, const Targets& targets,
                        const LossOptions& options) {
  const Var& hidden = x.var();
  require_fits(hidden, output, "output_loss");
  const int64_t vocabulary = options.divided.tokens(output.weight->shape()[0]);
  require_targets(targets, hidden.rows(), vocabulary, options.smoothing, "output_loss");

  const bool taught = pass.learned() != nullptr, teaches = pass.given() != nullptr;
  ensure(!options.divided.is_divided() || (!taught && !teaches), "output_loss", "a lesson over a divided vocabulary");
  auto losses = std::make_shared<Tensor>(pass.allocate_master({hidden.rows(), 2}));
  const std::vector<int32_t> counted = counted_rows(targets);
  if (teaches) {
    Lesson& lesson = *pass.given();
    lesson.x = lesson_rows(pass, hidden, targets, counted);
    lesson.output = output;
    lesson.cap = options.cap;
    pass.backend().fill(losses->view(), 0.0);
    return {pass.backend(), std::move(losses), targets.counted(), vocabulary, options.smoothing};
  }
  const UnpackedWeight weight(pass.backend(), *output.weight, pass.storage());
  const Projection projection{output, weight.view(), options};
  if (static_cast<int64_t>(counted.size()) == hidden.rows()) {
    Tensor d_x = project(pass, {hidden.value(), hidden.wants_gradient(), targets.ids(), losses->view()}, projection);
    if (!d_x.empty()) {
      pass.tape().record(OutputLossOp{hidden, Tensor(), std::move(d_x)});
    }
  } else if (counted.empty()) {
    pass.backend().fill(losses->view(), 0.0);
  } else {
    const SelectedRows selected(pass, hidden, targets, counted);
    Tensor d_x = project(pass, selected.rows(), projection);
    selected.spread_losses(pass.backend(), losses->view());
    if (!d_x.empty()) {
      pass.tape().record(OutputLossOp{hidden, pass.indices(counted), std::move(d_x)});
    }
  }
  return {pass.backend(), std::move(losses), targets.counted(),
          vocabulary,     options.smoothing, taught ? 1.0 - pass.learned()->weight : 1.0};
}

TokenLosses cross_entropy(Pass& pass, const Logits& logits, const Targets& targets, Smoothing smoothing) {
  const Var& z = logits.var();
  require_targets(targets, z.rows(), z.columns(), smoothing, "cross_entropy");
  auto losses = std::make_shared<Tensor>(pass.allocate_master({z.rows(), 2}));
  Tensor d_logits;
  if (pass.recording()) {
    d_logits = pass.allocate({z.rows(), z.columns()});
  }
  const Tensor target_ids = pass.indices(targets.ids());
  pass.backend().cross_entropy({
      .logits = z.value(),
      .targets = target_ids.view(),
      .smoothing = static_cast<double>(smoothing.value),
      .losses = losses->view(),
      .d_logits = d_logits.view(),
  });
  if (pass.recording()) {
    pass.tape().record(CrossEntropyOp{z, std::move(d_logits), pass.tape().loss_scale()});
  }
  return {pass.backend(), std::move(losses), targets.counted(), z.columns(), smoothing};
}

Logits output_logits(Pass& pass, const Hidden& x, LinearWeights output, SoftCapAt cap) {
  const Var z = linear(pass, x.var(), output, {.in_master_type = !pass.recording()});
  soft_cap(pass, z, cap);
  return Logits(z);
}

LogProbs log_softmax(Pass& pass, const Logits& logits) {
  ensure(!pass.recording(), "log_softmax", "log-probabilities have no gradient here; train on cross_entropy");
  const Var& z = logits.var();
  const Var log_probs(pass.allocate_master({z.rows(), z.columns()}), z.first_row());
  pass.backend().log_softmax(z.value(), log_probs.value());
  return LogProbs(log_probs);
}

void OutputLossOp::backward(Backend& backend) {
  if (rows.empty() && x.gradient().empty()) {
    x.set_gradient(std::move(d_x));
    return;
  }
  const Var::Slot slot = x.gradient_slot(backend);
  if (rows.empty()) {
    backend.add(d_x.view(), slot.view);
  } else {
    backend.select_rows_backward({.d_y = d_x.view(), .rows = rows.view(), .d_x = slot.view, .write = slot.write});
  }
}

void CrossEntropyOp::backward(Backend& backend) {
  backend.scale(d_logits.view(), scale);
  if (logits.gradient().empty()) {
    logits.set_gradient(std::move(d_logits));
  } else {
    backend.add(d_logits.view(), logits.gradient());
  }
}

}  // namespace heed
