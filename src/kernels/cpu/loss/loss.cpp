#include "kernels/cpu/loss/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <variant>

#include "base/rounding.h"
#include "kernels/cpu/product/linear.h"

#ifndef HEED_KERNELS_CPU_LOSS_ONCE
#define HEED_KERNELS_CPU_LOSS_ONCE
namespace heed::cpu {

// One row's loss: logits in, losses and gradient out.
struct LossRow {
  int64_t vocabulary;
  int32_t target;
  float smoothing, cap;  // cap 0: none
  float* losses;         // two
  View d_logits;         // one row, or empty
};

// Where a tile of x W^T goes: the logits of a block of rows.
struct LogitsBlock {
  const float* bias;
  float* logits;
  int64_t stride, first_row;
};

}  // namespace heed::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/loss/loss.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/elementwise/soft_cap-inl.h"
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

// d_logits = softmax(z) - q; `exponentials` holds e^(z - max), `total` their sum.
template <class T>
void write_gradient(const LossRow& row, const float* exponentials, float total) {
  T* const d_logits = host<T>(row.d_logits).data;  // may be the memory of the exponentials
  const float target = exponentials[row.target] / total - row.smoothing / static_cast<float>(row.vocabulary);
  const Vec scale = hn::Set(Floats(), 1.0F / total);
  const Vec spread = hn::Set(Floats(), row.smoothing / static_cast<float>(row.vocabulary));
  each_vector(row.vocabulary, [&](int64_t c, int64_t left) HWY_ATTR {
    store_upto(hn::MulSub(load_upto(exponentials + c, left), scale, spread), d_logits + c, left);
  });
  d_logits[row.target] = static_cast<T>(target - (1.0F - row.smoothing));
}

// The same, times the cap's slope, from capped logits of which `maximum` is the largest and whose exponentials sum up
// to `total`.
template <class T>
void write_capped_gradient(const LossRow& row, const float* logits, float maximum, float total) {
  const Floats d;
  T* const d_logits = host<T>(row.d_logits).data;  // may be the memory of the logits
  const SoftCapping cap(row.cap);
  const Vec scale = hn::Set(d, 1.0F / total), shift = hn::Set(d, maximum), log2_e = hn::Set(d, kLog2E);
  const float spread = row.smoothing / static_cast<float>(row.vocabulary);
  const Vec others = hn::Set(d, spread), at_target = hn::Set(d, spread + 1.0F - row.smoothing);
  const auto gradient = [&](Vec z, Vec q) HWY_ATTR {
    const Vec e = exp2_of(hn::Mul(hn::Sub(z, shift), log2_e));
    return hn::Mul(hn::MulSub(e, scale, q), cap.slope_at(z));
  };
  const Vec of_target = gradient(hn::Set(d, logits[row.target]), at_target);
  each_vector(row.vocabulary, [&](int64_t c, int64_t left) HWY_ATTR {
    store_upto(gradient(load_upto(logits + c, left), others), d_logits + c, left);
  });
  store_upto(of_target, d_logits + row.target, 1);
}

void ignore_row(const LossRow& row) {
  row.losses[0] = row.losses[1] = 0.0F;
  if (row.d_logits.empty()) {
    return;
  }
  if (row.d_logits.type() == DType::bf16) {
    std::fill_n(host<bf16>(row.d_logits).data, row.vocabulary, bf16());
  } else {
    std::fill_n(host<float>(row.d_logits).data, row.vocabulary, 0.0F);
  }
}

// The largest of a row, and the sum of its elements.
struct RowSums {
  float maximum, total;
};

RowSums scan(const float* logits, int64_t count) {
  const Floats d;
  Vec highest = hn::Set(d, logits[0]);
  Vec sum = hn::Zero(d);
  for_columns(
      count,
      [&](int64_t c) HWY_ATTR {
        const Vec z = load(logits + c);
        highest = hn::Max(highest, z);
        sum = hn::Add(sum, z);
      },
      [&](int64_t c, int64_t left) HWY_ATTR {
        const Vec z = load_part(logits + c, left);
        highest = hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(left)), hn::Max(highest, z), highest);
        sum = hn::Add(sum, z);
      });
  return {hn::GetLane(hn::MaxOfLanes(d, highest)), hn::GetLane(hn::SumOfLanes(d, sum))};
}

void write_losses(const LossRow& row, float at_target, RowSums sums, float total) {
  const float log_sum_exp = sums.maximum + std::log(total);
  const float average = sums.total / static_cast<float>(row.vocabulary);
  row.losses[0] = log_sum_exp - (1.0F - row.smoothing) * at_target - row.smoothing * average;
  row.losses[1] = log_sum_exp - at_target;
}

// Calls take(column, left, e^(z - maximum)) at every vector; returns the sum of the exponentials.
template <class Take>
HWY_INLINE float exponentiate(const float* logits, int64_t count, float maximum, Take&& take) {
  const Floats d;
  const Vec shift = hn::Set(d, maximum), log2_e = hn::Set(d, kLog2E);
  Vec sum = hn::Zero(d);
  const auto power = [&](Vec z) HWY_ATTR { return exp2_of(hn::Mul(hn::Sub(z, shift), log2_e)); };
  for_columns(
      count,
      [&](int64_t c) HWY_ATTR {
        const Vec e = power(load(logits + c));
        take(c, lanes(), e);
        sum = hn::Add(sum, e);
      },
      [&](int64_t c, int64_t left) HWY_ATTR {
        const Vec e = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(left)), power(load_part(logits + c, left)));
        take(c, left, e);
        sum = hn::Add(sum, e);
      });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace

// The same with capped logits, which keep their memory until the gradient is written.
void run_capped_loss_row(const LossRow& row, float* logits) {
  if (row.target < 0) {
    return ignore_row(row);
  }
  const SoftCapping cap(row.cap);
  each_vector(row.vocabulary, [&](int64_t c, int64_t left)
                                  HWY_ATTR { store_upto(cap.of(load_upto(logits + c, left)), logits + c, left); });
  const RowSums sums = scan(logits, row.vocabulary);
  const float total = exponentiate(logits, row.vocabulary, sums.maximum, [](int64_t, int64_t, Vec) HWY_ATTR {});
  write_losses(row, logits[row.target], sums, total);
  if (!row.d_logits.empty()) {
    row.d_logits.type() == DType::bf16 ? write_capped_gradient<bf16>(row, logits, sums.maximum, total)
                                       : write_capped_gradient<float>(row, logits, sums.maximum, total);
  }
}

// Overwrites the logits with e^(z - max).
void run_loss_row(const LossRow& row, float* logits) {
  if (row.target < 0) {
    return ignore_row(row);
  }
  const float at_target = logits[row.target];
  const RowSums sums = scan(logits, row.vocabulary);
  const float total = exponentiate(logits, row.vocabulary, sums.maximum,
                                   [&](int64_t c, int64_t left, Vec e) HWY_ATTR { store_upto(e, logits + c, left); });
  write_losses(row, at_target, sums, total);
  if (!row.d_logits.empty()) {
    row.d_logits.type() == DType::bf16 ? write_gradient<bf16>(row, logits, total)
                                       : write_gradient<float>(row, logits, total);
  }
}

// log_probs = z - lse(z); may be in place.
void run_log_softmax_row(const float* logits, float* log_probs, int64_t count) {
  const float maximum = scan(logits, count).maximum;
  const float total = exponentiate(logits, count, maximum, [](int64_t, int64_t, Vec) HWY_ATTR {});
  const Vec shift = hn::Set(Floats(), maximum + std::log(total));
  each_vector(count, [&](int64_t c, int64_t left)
                         HWY_ATTR { store_upto(hn::Sub(load_upto(logits + c, left), shift), log_probs + c, left); });
}

void run_take_logits(const LogitsBlock& block, const Tile& tile) {
  for (int64_t r = 0; r < tile.rows; ++r) {
    const float* const values = tile.values + r * tile.stride;
    float* const to = block.logits + (tile.first_row - block.first_row + r) * block.stride + tile.first_column;
    each_vector(tile.columns, [&](int64_t c, int64_t left) HWY_ATTR {
      const Vec z = load(values + c);
      store_upto(block.bias == nullptr ? z : hn::Add(z, load_upto(block.bias + tile.first_column + c, left)), to + c,
                 left);
    });
  }
}

void run_widen_logits(const bf16* from, float* to, int64_t count) {
  each_vector(count, [&](int64_t c, int64_t left) HWY_ATTR { store_upto(load_upto(from + c, left), to + c, left); });
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_loss_row);
HWY_EXPORT(run_capped_loss_row);
HWY_EXPORT(run_log_softmax_row);
HWY_EXPORT(run_take_logits);
HWY_EXPORT(run_widen_logits);

namespace {

// The rows whose logits one worker has in f32 at a time: enough to make up for reading the weight's panels again, few
// enough for the block to stay in the core's cache (48 rows of 8,000 are 1.5 MB).
constexpr int64_t kBlockRows = 48;

// The maximum size of panels that are packed for one call.
constexpr int64_t kPanelBytes = int64_t{64} << 20;

void take_logits(const void* context, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(run_take_logits)(*static_cast<const LogitsBlock*>(context), tile);
}

void read_logits(const ConstView& from, int64_t r, float* to) {
  if (from.type() == DType::bf16) {
    HWY_DYNAMIC_DISPATCH(run_widen_logits)(host<bf16>(from).row(r), to, from.columns());
  } else {
    std::copy_n(host<float>(from).row(r), from.columns(), to);
  }
}

void select_logits(const ConstView& from, int64_t r, std::span<const int32_t> columns, float* to) {
  if (from.type() == DType::bf16) {
    const bf16* const logits = host<bf16>(from).row(r);
    std::ranges::transform(columns, to, [logits](int32_t column) { return static_cast<float>(logits[column]); });
  } else {
    const float* const logits = host<float>(from).row(r);
    std::ranges::transform(columns, to, [logits](int32_t column) { return logits[column]; });
  }
}

template <class Call>
LossRow loss_row(const Call& call, int64_t r, int64_t vocabulary) {
  return {
      vocabulary, host<int32_t>(call.targets).data[r], static_cast<float>(call.smoothing),
      0.0F,       host<float>(call.losses).row(r),     call.d_logits.empty() ? View() : call.d_logits.row_range(r, 1)};
}

// Finishes row r of the output projection.
void finish_row(const OutputLoss& call, int64_t r, int64_t vocabulary, float* logits) {
  LossRow row = loss_row(call, r, vocabulary);
  if (call.cap > 0.0) {
    row.cap = static_cast<float>(call.cap);
    HWY_DYNAMIC_DISPATCH(run_capped_loss_row)(row, logits);
  } else {
    HWY_DYNAMIC_DISPATCH(run_loss_row)(row, logits);
  }
}

// Computes the logits of all rows, packing the weight's panels some columns at a time.
void project_by_columns(Context& context, Bf16Products products, const OutputLoss& call, const LogitsBlock& all) {
  const int64_t vocabulary = call.weight.matrix.rows();
  const int64_t row_bytes = call.weight.matrix.columns() * static_cast<int64_t>(sizeof(float));
  const int64_t part_rows = std::max<int64_t>(256, kPanelBytes / row_bytes / 256 * 256);
  for (int64_t first = 0; first < vocabulary; first += part_rows) {
    const Operand part{call.weight.matrix.row_range(first, std::min(part_rows, vocabulary - first)),
                       Layout::transposed};
    const Panels panels =
        pack_panels(context, part, products, context.shared_scratch.reserve<float>(panel_elements(part, products)));
    const LogitsBlock block{all.bias == nullptr ? nullptr : all.bias + first, all.logits + first, all.stride, 0};
    multiply(context, {call.x}, panels, {take_logits, &block});
  }
}

// For a weight whose panels would exceed kPanelBytes. f32 gradients overwrite the logits.
void output_loss_by_columns(Context& context, Bf16Products products, const OutputLoss& call) {
  const int64_t rows = call.x.rows(), vocabulary = call.weight.matrix.rows();
  const bool in_place = call.d_logits.type() == DType::f32 && !call.d_logits.empty();
  const int64_t stride = in_place ? call.d_logits.stride() : round_up(vocabulary, 16);
  const LogitsBlock all{
      call.bias.empty() ? nullptr : host<float>(call.bias).data,
      in_place ? host<float>(call.d_logits).data : context.logits_scratch.reserve<float>(rows * stride), stride, 0};
  project_by_columns(context, products, call, all);
  const RowTasks tasks(rows, 4 * vocabulary, context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    for (int64_t r = tasks.begin(task); r < tasks.end(task); ++r) {
      finish_row(call, r, vocabulary, all.logits + r * stride);
    }
  });
}

}  // namespace

void output_loss(Context& context, Bf16Products products, const OutputLoss& call) {
  const int64_t panels_of_all = panel_elements({call.weight.matrix, Layout::transposed}, products);
  if (call.weight.packed == nullptr && panels_of_all * static_cast<int64_t>(sizeof(float)) > kPanelBytes) {
    return output_loss_by_columns(context, products, call);
  }
  const int64_t rows = call.x.rows();
  const int64_t vocabulary = call.weight.rows();
  const int64_t stride = round_up(vocabulary, 16);
  const AnyPanels weight = panels_of_weight(context, call.weight, products);
  const int64_t block_rows = std::min(kBlockRows, std::max<int64_t>(1, rows / (4 * context.pool.threads())));
  const int64_t blocks = ceil_div(rows, block_rows);
  float* const all_logits = context.logits_scratch.reserve<float>(context.pool.threads() * block_rows * stride);
  context.pool.run(blocks, [&](int64_t block, int worker) {
    const int64_t first = block * block_rows;
    const int64_t count = std::min(block_rows, rows - first);
    float* const logits = all_logits + worker * block_rows * stride;
    const LogitsBlock target{call.bias.empty() ? nullptr : host<float>(call.bias).data, logits, stride, first};
    std::visit(
        [&](const auto& panels) {
          multiply_rows(context.scratch(worker), {call.x}, panels, first, count, {take_logits, &target});
        },
        weight);
    for (int64_t r = 0; r < count; ++r) {
      finish_row(call, first + r, vocabulary, logits + r * stride);
    }
  });
}

void cross_entropy(Context& context, const CrossEntropy& call) {
  const int64_t vocabulary = call.logits.columns();
  const RowTasks tasks(call.logits.rows(), 4 * vocabulary, context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int worker) {
    float* const logits = context.scratch(worker).reserve<float>(vocabulary);
    for (int64_t r = tasks.begin(task); r < tasks.end(task); ++r) {
      read_logits(call.logits, r, logits);
      HWY_DYNAMIC_DISPATCH(run_loss_row)(loss_row(call, r, vocabulary), logits);
    }
  });
}

void log_softmax(Context& context, const ConstView& logits, const View& log_probs) {
  const RowTasks tasks(logits.rows(), 4 * logits.columns(), context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    for (int64_t r = tasks.begin(task); r < tasks.end(task); ++r) {
      float* const row = host<float>(log_probs).row(r);
      if (logits.type() == DType::bf16) {
        read_logits(logits, r, row);
      }
      HWY_DYNAMIC_DISPATCH(run_log_softmax_row)
      (logits.type() == DType::bf16 ? row : host<float>(logits).row(r), row, logits.columns());
    }
  });
}

void selected_log_softmax(Context& context, const SelectedLogSoftmax& call) {
  const int32_t* const columns = host<int32_t>(call.columns).data;
  const HostView<const int32_t> ranges = host<int32_t>(call.ranges);
  const HostView<float> log_probs = host<float>(call.log_probs);
  const RowTasks tasks(log_probs.rows, 4 * log_probs.columns, context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    for (int64_t r = tasks.begin(task); r < tasks.end(task); ++r) {
      float* const row = log_probs.row(r);
      const int32_t* const own = columns + ranges(0, r);
      const int64_t count = ranges(1, r) - ranges(0, r);
      select_logits(call.logits, r, {own, static_cast<size_t>(count)}, row);
      std::fill(row + count, row + log_probs.columns, -std::numeric_limits<float>::infinity());
      HWY_DYNAMIC_DISPATCH(run_log_softmax_row)(row, row, count);
    }
  });
}

}  // namespace heed::cpu
#endif
