#include "kernels/cpu/elementwise/elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/rounding.h"

#ifndef HEED_KERNELS_CPU_ELEMENTS_ONCE
#define HEED_KERNELS_CPU_ELEMENTS_ONCE
namespace heed::cpu {

// The constants of one sweep, computed once in double.
struct AdamConstants {
  float clip, beta1, rest1, beta2, rest2, step_size, root_correction, epsilon, coupled_decay, kept;
};

}  // namespace heed::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/elements.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

void run_fill(float* to, int64_t count, float value) {
  each_vector(count, [&](int64_t i, int64_t left) HWY_ATTR { store_upto(hn::Set(Floats(), value), to + i, left); });
}

void run_widen(const bf16* from, float* to, int64_t count) {
  each_vector(count, [&](int64_t i, int64_t left) HWY_ATTR { store_upto(load_upto(from + i, left), to + i, left); });
}

void run_narrow(const float* from, bf16* to, int64_t count) {
  each_vector(count,
              [&](int64_t i, int64_t left) HWY_ATTR { store_upto(quieted(load_upto(from + i, left)), to + i, left); });
}

template <class T>
HWY_INLINE void add_row(const T* x, T* into, int64_t count) {
  each_vector(count, [&](int64_t i, int64_t left) HWY_ATTR {
    store_upto(hn::Add(load_upto(into + i, left), load_upto(x + i, left)), into + i, left);
  });
}
void run_add_f32(const float* x, float* into, int64_t count) { add_row(x, into, count); }
void run_add_bf16(const bf16* x, bf16* into, int64_t count) { add_row(x, into, count); }

template <class T>
HWY_INLINE void scale_row(T* x, float factor, int64_t count) {
  each_vector(count, [&](int64_t i, int64_t left) HWY_ATTR {
    store_upto(hn::Mul(load_upto(x + i, left), hn::Set(Floats(), factor)), x + i, left);
  });
}
void run_scale_f32(float* x, float factor, int64_t count) { scale_row(x, factor, count); }
void run_scale_bf16(bf16* x, float factor, int64_t count) { scale_row(x, factor, count); }

void run_blend(const float* from, float* into, float share, int64_t count) {
  each_vector(count, [&](int64_t i, int64_t left) HWY_ATTR {
    const Vec old = load_upto(into + i, left);
    store_upto(hn::MulAdd(hn::Set(Floats(), share), hn::Sub(load_upto(from + i, left), old), old), into + i, left);
  });
}

// Each lane sums every 2^k-th element in double, so that 10^8 small squares lose no precision.
double run_squared_norm(const float* x, int64_t count) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, hn::ScalableTag<double>> narrow;
  const int64_t n = static_cast<int64_t>(hn::Lanes(wide));
  auto sum0 = hn::Zero(wide), sum1 = hn::Zero(wide);
  int64_t i = 0;
  for (; i + 2 * n <= count; i += 2 * n) {
    const auto a = hn::PromoteTo(wide, hn::LoadU(narrow, x + i));
    const auto b = hn::PromoteTo(wide, hn::LoadU(narrow, x + i + n));
    sum0 = hn::MulAdd(a, a, sum0);
    sum1 = hn::MulAdd(b, b, sum1);
  }
  double sum = hn::GetLane(hn::SumOfLanes(wide, hn::Add(sum0, sum1)));
  for (; i < count; ++i) {
    sum += static_cast<double>(x[i]) * x[i];
  }
  return sum;
}

void run_adam(const AdamConstants& k, const float* gradients, float* weights, float* first, float* second, bf16* copy,
              int64_t count) {
  const Floats d;
  const auto set = [&](float x) HWY_ATTR { return hn::Set(d, x); };
  each_vector(count, [&](int64_t i, int64_t left) HWY_ATTR {
    Vec w = load_upto(weights + i, left);
    const Vec g = hn::MulAdd(set(k.coupled_decay), w, hn::Mul(set(k.clip), load_upto(gradients + i, left)));
    const Vec m = hn::MulAdd(set(k.beta1), load_upto(first + i, left), hn::Mul(set(k.rest1), g));
    const Vec v = hn::MulAdd(set(k.beta2), load_upto(second + i, left), hn::Mul(set(k.rest2), hn::Mul(g, g)));
    const Vec deviation = hn::MulAdd(hn::Sqrt(v), set(k.root_correction), set(k.epsilon));
    w = hn::NegMulAdd(set(k.step_size), hn::Div(m, deviation), hn::Mul(set(k.kept), w));
    store_upto(m, first + i, left);
    store_upto(v, second + i, left);
    store_upto(w, weights + i, left);
    if (copy != nullptr) {
      store_upto(w, copy + i, left);
    }
  });
}

// m = momentum m + clip g. Returns the squared norm of clip g + momentum m, summed like run_squared_norm.
double run_momentum(const float* gradients, float* moments, float clip, float momentum, int64_t count) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, hn::ScalableTag<double>> d;
  const auto n = static_cast<int64_t>(hn::Lanes(wide));
  auto sum = hn::Zero(wide);
  int64_t i = 0;
  for (; i + n <= count; i += n) {
    const auto g = hn::Mul(hn::Set(d, clip), hn::LoadU(d, gradients + i));
    const auto m = hn::MulAdd(hn::Set(d, momentum), hn::LoadU(d, moments + i), g);
    hn::StoreU(m, d, moments + i);
    const auto u = hn::PromoteTo(wide, hn::MulAdd(hn::Set(d, momentum), m, g));
    sum = hn::MulAdd(u, u, sum);
  }
  double total = hn::GetLane(hn::SumOfLanes(wide, sum));
  for (; i < count; ++i) {
    const float g = clip * gradients[i];
    moments[i] = momentum * moments[i] + g;
    const double u = static_cast<double>(g + momentum * moments[i]);
    total += u * u;
  }
  return total;
}

// g_scale g + m_scale m.
template <class T>
HWY_INLINE void combine(const float* g, const float* m, float g_scale, float m_scale, T* to, int64_t count) {
  each_vector(count, [&](int64_t i, int64_t left) HWY_ATTR {
    const Vec scaled = hn::Mul(hn::Set(Floats(), g_scale), load_upto(g + i, left));
    store_upto(hn::MulAdd(hn::Set(Floats(), m_scale), load_upto(m + i, left), scaled), to + i, left);
  });
}
void run_direction_f32(const float* g, const float* m, float g_scale, float m_scale, float* to, int64_t count) {
  combine(g, m, g_scale, m_scale, to, count);
}
void run_direction_bf16(const float* g, const float* m, float g_scale, float m_scale, bf16* to, int64_t count) {
  combine(g, m, g_scale, m_scale, to, count);
}

template <class T>
HWY_INLINE void step_along(const T* direction, float* weights, bf16* copy, float kept, float step, int64_t count) {
  each_vector(count, [&](int64_t i, int64_t left) HWY_ATTR {
    const Vec w = hn::NegMulAdd(hn::Set(Floats(), step), load_upto(direction + i, left),
                                hn::Mul(hn::Set(Floats(), kept), load_upto(weights + i, left)));
    store_upto(w, weights + i, left);
    if (copy != nullptr) {
      store_upto(w, copy + i, left);
    }
  });
}
void run_muon_step_f32(const float* direction, float* weights, bf16* copy, float kept, float step, int64_t count) {
  step_along(direction, weights, copy, kept, step, count);
}
void run_muon_step_bf16(const bf16* direction, float* weights, bf16* copy, float kept, float step, int64_t count) {
  step_along(direction, weights, copy, kept, step, count);
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_fill);
HWY_EXPORT(run_widen);
HWY_EXPORT(run_narrow);
HWY_EXPORT(run_add_f32);
HWY_EXPORT(run_add_bf16);
HWY_EXPORT(run_scale_f32);
HWY_EXPORT(run_scale_bf16);
HWY_EXPORT(run_blend);
HWY_EXPORT(run_squared_norm);
HWY_EXPORT(run_adam);
HWY_EXPORT(run_momentum);
HWY_EXPORT(run_direction_f32);
HWY_EXPORT(run_direction_bf16);
HWY_EXPORT(run_muon_step_f32);
HWY_EXPORT(run_muon_step_bf16);

namespace {

constexpr int64_t kPiece = 16 * 1024;  // elements per task of a flat sweep; also fixes the order of long sums

// Calls body(row, first column, count) over pieces of all rows.
template <class Body>
void each_piece(Context& context, const ConstView& x, Body&& body) {
  const int64_t pieces = ceil_div(x.columns(), kPiece);
  const RowTasks tasks(x.rows() * pieces, std::min(kPiece, x.columns()), context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    for (int64_t piece = tasks.begin(task); piece < tasks.end(task); ++piece) {
      const int64_t first = piece % pieces * kPiece;
      body(piece / pieces, first, std::min(kPiece, x.columns() - first));
    }
  });
}

template <class T, class AnyView>
auto* at(const AnyView& x, int64_t row, int64_t column) {
  return host<T>(x).row(row) + column;
}

}  // namespace

void fill(Context& context, const View& x, double value) {
  each_piece(context, x, [&](int64_t row, int64_t first, int64_t count) {
    if (x.type() == DType::bf16) {
      std::fill_n(at<bf16>(x, row, first), count, bf16(static_cast<float>(value)));
    } else if (x.type() == DType::f32) {
      HWY_DYNAMIC_DISPATCH(run_fill)(at<float>(x, row, first), count, static_cast<float>(value));
    } else {
      ensure(x.type() == DType::f64, "fill", "of {}", x);
      std::fill_n(at<double>(x, row, first), count, value);
    }
  });
}

void copy(Context& context, const ConstView& from, const View& to) {
  ensure(from.rows() == to.rows() && from.columns() == to.columns(), "copy", "{} to {}", from, to);
  each_piece(context, from, [&](int64_t row, int64_t first, int64_t count) {
    if (from.type() == to.type()) {
      const int64_t offset = first * size_of(from.type());
      std::memcpy(static_cast<std::byte*>(host_address(to.row_range(row, 1))) + offset,
                  static_cast<const std::byte*>(host_address(from.row_range(row, 1))) + offset,
                  static_cast<size_t>(count * size_of(from.type())));
    } else if (from.type() == DType::bf16) {
      HWY_DYNAMIC_DISPATCH(run_widen)(at<bf16>(from, row, first), at<float>(to, row, first), count);
    } else {
      HWY_DYNAMIC_DISPATCH(run_narrow)(at<float>(from, row, first), at<bf16>(to, row, first), count);
    }
  });
}

void add(Context& context, const ConstView& x, const View& into) {
  each_piece(context, x, [&](int64_t row, int64_t first, int64_t count) {
    if (x.type() == DType::bf16) {
      HWY_DYNAMIC_DISPATCH(run_add_bf16)(at<bf16>(x, row, first), at<bf16>(into, row, first), count);
    } else {
      HWY_DYNAMIC_DISPATCH(run_add_f32)(at<float>(x, row, first), at<float>(into, row, first), count);
    }
  });
}

void scale(Context& context, const View& x, double factor) {
  each_piece(context, x, [&](int64_t row, int64_t first, int64_t count) {
    if (x.type() == DType::bf16) {
      HWY_DYNAMIC_DISPATCH(run_scale_bf16)(at<bf16>(x, row, first), static_cast<float>(factor), count);
    } else {
      HWY_DYNAMIC_DISPATCH(run_scale_f32)(at<float>(x, row, first), static_cast<float>(factor), count);
    }
  });
}

void blend(Context& context, const ConstView& from, const View& into, double share) {
  ensure(from.rows() == into.rows() && from.columns() == into.columns(), "blend", "{} into {}", from, into);
  each_piece(context, into, [&](int64_t row, int64_t first, int64_t count) {
    HWY_DYNAMIC_DISPATCH(run_blend)
    (at<float>(from, row, first), at<float>(into, row, first), static_cast<float>(share), count);
  });
}

void squared_norms(Context& context, const ConstView& x, std::span<const ElementRange> ranges, const View& norms) {
  const auto count = static_cast<int64_t>(ranges.size());
  const RowTasks tasks(count, x.columns() / std::max<int64_t>(1, count), context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    for (int64_t i = tasks.begin(task); i < tasks.end(task); ++i) {
      const ElementRange& range = ranges[static_cast<size_t>(i)];
      double sum = 0.0;
      for (int64_t done = 0; done < range.count; done += kPiece) {
        sum += HWY_DYNAMIC_DISPATCH(run_squared_norm)(at<float>(x, 0, range.first + done),
                                                      std::min(kPiece, range.count - done));
      }
      host<double>(norms)(0, i) = sum;
    }
  });
}

void sum(const ConstView& x, const View& total) {
  const double* const values = host<double>(x).data;
  *host<double>(total).data = std::accumulate(values, values + x.columns(), 0.0);
}

namespace {

AdamConstants constants_of(const AdamSweep& call, double clip, double step, Decays decays) {
  const bool decoupled = call.decay_kind == WeightDecay::decoupled;
  const double decay = decays == Decays::yes ? call.weight_decay : 0.0;
  return {
      .clip = static_cast<float>(clip),
      .beta1 = static_cast<float>(call.beta1),
      .rest1 = static_cast<float>(1.0 - call.beta1),
      .beta2 = static_cast<float>(call.beta2),
      .rest2 = static_cast<float>(1.0 - call.beta2),
      .step_size = static_cast<float>(call.learning_rate / (1.0 - std::pow(call.beta1, step))),
      .root_correction = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(call.beta2, step))),
      .epsilon = static_cast<float>(call.epsilon),
      .coupled_decay = static_cast<float>(decoupled ? 0.0 : decay),
      .kept = static_cast<float>(decoupled ? 1.0 - call.learning_rate * decay : 1.0),
  };
}

}  // namespace

void adam(Context& context, const AdamSweep& call) {
  const double norm = std::sqrt(*host<double>(call.squared_norm).data);
  if (!std::isfinite(norm)) {
    return;
  }
  const double clip = call.max_norm > 0.0 ? std::min(1.0, call.max_norm / (norm + 1e-6)) : 1.0;
  const double step = *host<double>(call.applied).data += 1.0;
  const AdamConstants decaying = constants_of(call, clip, step, Decays::yes);
  const AdamConstants spared = constants_of(call, clip, step, Decays::no);
  for (const ElementRange& range : call.ranges) {
    each_piece(context, call.weights.column_range(range.first, range.count),
               [&](int64_t, int64_t piece, int64_t count) {
                 const int64_t first = range.first + piece;
                 HWY_DYNAMIC_DISPATCH(run_adam)
                 (range.decays == Decays::yes ? decaying : spared, at<float>(call.gradients, 0, first),
                  at<float>(call.weights, 0, first), at<float>(call.first_moments, 0, first),
                  at<float>(call.second_moments, 0, first), call.copy.empty() ? nullptr : at<bf16>(call.copy, 0, first),
                  count);
               });
  }
}

namespace {

// Rows that are end to end, as a single row.
template <class AnyView>
AnyView flattened(const AnyView& x) {
  ensure(x.contiguous(), "muon", "{} is not one piece", x);
  return {host_address(x), x.type(), 1, x.elements(), x.elements()};
}

}  // namespace

void muon_direction(Context& context, const MuonDirection& call) {
  const View direction = flattened(call.direction);
  const double norm = std::sqrt(*host<double>(call.squared_norm).data);
  if (!std::isfinite(norm)) {
    return fill(context, direction, 0.0);
  }
  const double clip = call.max_norm > 0.0 ? std::min(1.0, call.max_norm / (norm + 1e-6)) : 1.0;
  const ConstView gradients = flattened(call.gradients);
  const View moments = flattened(call.moments);
  std::vector<double> sums(static_cast<size_t>(ceil_div(moments.columns(), kPiece)));
  const auto factor = static_cast<float>(call.momentum);
  each_piece(context, moments, [&](int64_t, int64_t first, int64_t count) {
    sums[static_cast<size_t>(first / kPiece)] = HWY_DYNAMIC_DISPATCH(run_momentum)(
        at<float>(gradients, 0, first), at<float>(moments, 0, first), static_cast<float>(clip), factor, count);
  });
  double squares = 0.0;
  for (const double sum : sums) {
    squares += sum;
  }
  const auto scale = static_cast<float>(squares > 0.0 ? 1.0 / std::sqrt(squares) : 0.0);
  each_piece(context, moments, [&](int64_t, int64_t first, int64_t count) {
    const float *g = at<float>(gradients, 0, first), *m = at<float>(moments, 0, first);
    if (direction.type() == DType::bf16) {
      HWY_DYNAMIC_DISPATCH(run_direction_bf16)
      (g, m, scale * static_cast<float>(clip), scale * factor, at<bf16>(direction, 0, first), count);
    } else {
      HWY_DYNAMIC_DISPATCH(run_direction_f32)
      (g, m, scale * static_cast<float>(clip), scale * factor, at<float>(direction, 0, first), count);
    }
  });
}

void muon_step(Context& context, const MuonStep& call) {
  if (!std::isfinite(*host<double>(call.squared_norm).data)) {
    return;
  }
  const View weights = flattened(call.weights);
  const ConstView direction = flattened(call.direction);
  const View copy = call.copy.empty() ? View() : flattened(call.copy);
  const auto kept = static_cast<float>(1.0 - call.learning_rate * call.weight_decay);
  const auto step = static_cast<float>(call.learning_rate * call.scale);
  each_piece(context, weights, [&](int64_t, int64_t first, int64_t count) {
    bf16* const to = copy.empty() ? nullptr : at<bf16>(copy, 0, first);
    if (direction.type() == DType::bf16) {
      HWY_DYNAMIC_DISPATCH(run_muon_step_bf16)
      (at<bf16>(direction, 0, first), at<float>(weights, 0, first), to, kept, step, count);
    } else {
      HWY_DYNAMIC_DISPATCH(run_muon_step_f32)
      (at<float>(direction, 0, first), at<float>(weights, 0, first), to, kept, step, count);
    }
  });
}

}  // namespace heed::cpu
#endif
