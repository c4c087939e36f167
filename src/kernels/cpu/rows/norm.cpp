#include "kernels/cpu/rows/norm.h"

#include <algorithm>
#include <cmath>

#include "base/rounding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/norm.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

HWY_INLINE float sum_of(Vec x) { return hn::GetLane(hn::SumOfLanes(Floats(), x)); }

// The columns that are normalized together.
struct NormedColumns {
  int64_t first, count;
};

// Computes columns of a row of the new residual as f32 in `row`, rounded like the stored value; also stores it if
// requested. With a branch these are all columns.
template <class T>
HWY_INLINE void form_sum(const AddNormForward& call, int64_t r, NormedColumns of, float* row) {
  const int64_t columns = of.count;
  const T* const residual = host<T>(call.residual).row(r) + of.first;
  if (call.branch.empty()) {
    each_vector(columns, [&](int64_t c, int64_t left) HWY_ATTR { store(load_upto(residual + c, left), row + c); });
    return;
  }
  const T* const branch = host<T>(call.branch).row(r);
  T* const sum = host<T>(call.sum).row(r);
  DropoutRow drop(call.dropout, r);
  each_vector(columns, [&](int64_t c, int64_t left) HWY_ATTR {
    const Vec x = hn::Add(load_upto(residual + c, left), drop.apply(load_upto(branch + c, left), c));
    store_upto(x, sum + c, left);
    store(as_stored<T>(x), row + c);
  });
}

struct Statistics {
  float mean, inverse_deviation;
};

// What norms are multiplied by: a stored gain less this. Subtracting 0 keeps every gain, -0 too.
HWY_INLINE Vec below_gain(NormGain form) { return hn::Set(Floats(), form == NormGain::plus_one ? -1.0F : 0.0F); }

// `row` is padded with zeros to a whole vector. Two passes, so that a large mean costs no precision.
HWY_INLINE Statistics statistics_of(NormKind kind, const float* row, int64_t columns, double epsilon) {
  const float count = static_cast<float>(columns);
  Statistics s{0.0F, 0.0F};
  if (kind == NormKind::layer) {
    Vec total = hn::Zero(Floats());
    each_vector(columns, [&](int64_t c, int64_t) HWY_ATTR { total = hn::Add(total, load(row + c)); });
    s.mean = sum_of(total) / count;
  }
  Vec squares = hn::Zero(Floats());
  const Vec mean = hn::Set(Floats(), s.mean);
  each_vector(columns, [&](int64_t c, int64_t left) HWY_ATTR {
    const Vec x = hn::IfThenElseZero(hn::FirstN(Floats(), static_cast<size_t>(std::min(left, lanes()))),
                                     hn::Sub(load(row + c), mean));
    squares = hn::MulAdd(x, x, squares);
  });
  s.inverse_deviation = 1.0F / std::sqrt(sum_of(squares) / count + static_cast<float>(epsilon));
  return s;
}

template <class T>
void add_norm_row(const AddNormForward& call, int64_t r, int64_t group, float* row) {
  const int64_t columns = call.residual.columns() / call.groups, first = group * columns;
  form_sum<T>(call, r, {first, columns}, row);
  if (call.normed.empty()) {
    return;
  }
  const Statistics s = statistics_of(call.kind, row, columns, call.epsilon);
  if (!call.statistics.empty()) {
    float* const kept = host<float>(call.statistics).row(r) + 2 * group;
    kept[0] = s.mean;
    kept[1] = s.inverse_deviation;
  }
  const float* const gain = host<float>(call.gain).data;
  const float* const bias = call.bias.empty() ? nullptr : host<float>(call.bias).data;
  T* const normed = host<T>(call.normed).row(r) + first;
  const Vec mean = hn::Set(Floats(), s.mean);
  const Vec scale = hn::Set(Floats(), s.inverse_deviation);
  const Vec below = below_gain(call.gain_form);
  each_vector(columns, [&](int64_t c, int64_t left) HWY_ATTR {
    Vec x = hn::Mul(hn::Mul(hn::Sub(load(row + c), mean), scale), hn::Sub(load_upto(gain + c, left), below));
    if (bias != nullptr) {
      x = hn::Add(x, load_upto(bias + c, left));
    }
    store_upto(x, normed + c, left);
  });
}

// With n = (s - mean) / deviation and g = d_normed * gain:
//   layer: d_s = (g - average(g) - n * average(g * n)) / deviation      rms: without average(g)
template <class T>
void add_norm_backward_row(const AddNormBackward& call, int64_t r, int64_t group, float* d_gain, float* d_bias) {
  const Floats d;
  const int64_t columns = call.d_residual.columns() / call.groups, first = group * columns;
  const T* const d_sum = call.d_sum.empty() ? nullptr : host<T>(call.d_sum).row(r) + first;
  const T* const d_normed = call.d_normed.empty() ? nullptr : host<T>(call.d_normed).row(r) + first;
  const T* const sum = host<T>(call.sum).row(r) + first;
  const float* const gain = d_normed == nullptr ? nullptr : host<float>(call.gain).data;
  const float* const s = d_normed == nullptr ? nullptr : host<float>(call.statistics).row(r) + 2 * group;
  const Vec mean = hn::Set(d, s == nullptr ? 0.0F : s[0]);
  const Vec scale = hn::Set(d, s == nullptr ? 0.0F : s[1]);
  const Vec below = below_gain(call.gain_form);

  Vec total = hn::Zero(d), projected = hn::Zero(d);
  if (d_normed != nullptr) {
    each_vector(columns, [&](int64_t c, int64_t left) HWY_ATTR {
      // After the last column d_normed reads as zero, and so does everything that is multiplied by it.
      const Vec d_n = load_upto(d_normed + c, left);
      const Vec n = hn::Mul(hn::Sub(load_upto(sum + c, left), mean), scale);
      const Vec g = hn::Mul(d_n, hn::Sub(load_upto(gain + c, left), below));
      total = hn::Add(total, g);
      projected = hn::MulAdd(g, n, projected);
      store(hn::MulAdd(d_n, n, load(d_gain + c)), d_gain + c);
      store(hn::Add(load(d_bias + c), d_n), d_bias + c);
    });
  }
  const float count = static_cast<float>(columns);
  const Vec average = hn::Set(d, call.kind == NormKind::layer ? sum_of(total) / count : 0.0F);
  const Vec average_projected = hn::Set(d, sum_of(projected) / count);

  T* const d_residual = host<T>(call.d_residual).row(r) + first;
  T* const d_branch = call.d_branch.empty() ? nullptr : host<T>(call.d_branch).row(r);
  DropoutRow drop(call.dropout, r);
  each_vector(columns, [&](int64_t c, int64_t left) HWY_ATTR {
    Vec x = d_sum == nullptr ? hn::Zero(d) : load_upto(d_sum + c, left);
    if (d_normed != nullptr) {
      const Vec n = hn::Mul(hn::Sub(load_upto(sum + c, left), mean), scale);
      const Vec g = hn::Mul(load_upto(d_normed + c, left), hn::Sub(load_upto(gain + c, left), below));
      x = hn::MulAdd(scale, hn::Sub(hn::Sub(g, average), hn::Mul(n, average_projected)), x);
    }
    if (d_branch != nullptr) {
      store_upto(drop.apply(x, c), d_branch + c, left);
    }
    if (call.write_residual == Write::add) {
      x = hn::Add(x, load_upto(d_residual + c, left));
    }
    store_upto(x, d_residual + c, left);
  });
}

}  // namespace

void run_add_norm(const AddNormForward& call, int64_t begin, int64_t end, float* row) {
  for (int64_t r = begin; r < end; ++r) {
    for (int64_t group = 0; group < call.groups; ++group) {
      call.residual.type() == DType::bf16 ? add_norm_row<bf16>(call, r, group, row)
                                          : add_norm_row<float>(call, r, group, row);
    }
  }
}

void run_add_norm_backward(const AddNormBackward& call, int64_t begin, int64_t end, float* d_gain, float* d_bias) {
  for (int64_t r = begin; r < end; ++r) {
    for (int64_t group = 0; group < call.groups; ++group) {
      call.d_residual.type() == DType::bf16 ? add_norm_backward_row<bf16>(call, r, group, d_gain, d_bias)
                                            : add_norm_backward_row<float>(call, r, group, d_gain, d_bias);
    }
  }
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_add_norm);
HWY_EXPORT(run_add_norm_backward);

namespace {

// Gradients of gain and bias are summed within blocks of rows and then over the blocks, both in order: the blocks are
// fixed, so the sum does not depend on the threads.
constexpr int64_t kBlockRows = 32;

int64_t whole_vectors(int64_t columns) { return round_up(columns, 16); }

}  // namespace

void add_norm(Context& context, const AddNormForward& call) {
  const RowTasks tasks(call.residual.rows(), 2 * call.residual.columns(), context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int worker) {
    float* const row = context.scratch(worker).reserve<float>(whole_vectors(call.residual.columns()));
    HWY_DYNAMIC_DISPATCH(run_add_norm)(call, tasks.begin(task), tasks.end(task), row);
  });
}

void add_norm_backward(Context& context, const AddNormBackward& call) {
  const int64_t rows = call.d_residual.rows();
  const int64_t columns = call.d_residual.columns() / call.groups;
  const int64_t width = whole_vectors(columns);
  const int64_t blocks = ceil_div(rows, kBlockRows);
  float* const sums = context.shared_scratch.reserve<float>(2 * blocks * width);
  context.pool.run(blocks, [&](int64_t block, int) {
    float* const d_gain = sums + 2 * block * width;
    std::fill_n(d_gain, 2 * width, 0.0F);
    HWY_DYNAMIC_DISPATCH(run_add_norm_backward)
    (call, block * kBlockRows, std::min(rows, (block + 1) * kBlockRows), d_gain, d_gain + width);
  });
  const auto add_blocks = [&](const View& gradient, int64_t offset) {
    if (gradient.empty()) {
      return;
    }
    float* const to = host<float>(gradient).data;
    for (int64_t block = 0; block < blocks; ++block) {
      const float* const from = sums + 2 * block * width + offset;
      for (int64_t c = 0; c < columns; ++c) {
        to[c] += from[c];
      }
    }
  };
  add_blocks(call.d_gain, 0);
  add_blocks(call.d_bias, width);
}

}  // namespace heed::cpu
#endif
