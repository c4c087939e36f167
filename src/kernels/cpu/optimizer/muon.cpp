#include "kernels/cpu/optimizer/muon.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/elementwise/elements.h"
#include "kernels/cpu/elementwise/sweep.h"

#ifndef HEED_KERNELS_CPU_MUON_ONCE
#define HEED_KERNELS_CPU_MUON_ONCE
namespace heed::cpu {

struct MuonFactors {
  float step, kept, kept_opposed;
};

}  // namespace heed::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/optimizer/muon.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

// m = momentum m + clip g. Returns the squared norm of clip g + momentum m, summed in double as for squared_norms.
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
HWY_INLINE double squares_of(const T* x, int64_t count) {
  const hn::ScalableTag<double> wide;
  const hn::Half<Floats> half;
  auto sum = hn::Zero(wide);
  each_vector(count, [&](int64_t i, int64_t left) HWY_ATTR {
    const Vec v = load_upto(x + i, left);
    const auto low = hn::PromoteTo(wide, hn::LowerHalf(v)), high = hn::PromoteTo(wide, hn::UpperHalf(half, v));
    sum = hn::MulAdd(high, high, hn::MulAdd(low, low, sum));
  });
  return hn::GetLane(hn::SumOfLanes(wide, sum));
}
double run_squares_f32(const float* x, int64_t count) { return squares_of(x, count); }
double run_squares_bf16(const bf16* x, int64_t count) { return squares_of(x, count); }

// `kept` is what decay leaves of a weight, `kept_opposed` of one whose sign is the opposite of its direction's.
template <class T>
HWY_INLINE void step_along(const T* direction, float* weights, bf16* copy, const MuonFactors& k, int64_t count) {
  const auto set = [](float x) HWY_ATTR { return hn::Set(Floats(), x); };
  each_vector(count, [&](int64_t i, int64_t left) HWY_ATTR {
    const Vec d = load_upto(direction + i, left), before = load_upto(weights + i, left);
    const Vec kept = hn::IfThenElse(hn::Ge(hn::Mul(d, before), set(0.0F)), set(k.kept), set(k.kept_opposed));
    const Vec w = hn::NegMulAdd(set(k.step), d, hn::Mul(kept, before));
    store_upto(w, weights + i, left);
    if (copy != nullptr) {
      store_upto(w, copy + i, left);
    }
  });
}
void run_muon_step_f32(const float* direction, float* weights, bf16* copy, const MuonFactors& k, int64_t count) {
  step_along(direction, weights, copy, k, count);
}
void run_muon_step_bf16(const bf16* direction, float* weights, bf16* copy, const MuonFactors& k, int64_t count) {
  step_along(direction, weights, copy, k, count);
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_momentum);
HWY_EXPORT(run_direction_f32);
HWY_EXPORT(run_direction_bf16);
HWY_EXPORT(run_squares_f32);
HWY_EXPORT(run_squares_bf16);
HWY_EXPORT(run_muon_step_f32);
HWY_EXPORT(run_muon_step_bf16);

namespace {

// Rows that are end to end, as a single row.
template <class AnyView>
AnyView flattened(const AnyView& x) {
  ensure(x.contiguous(), "muon", "{} is not contiguous", x);
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
  std::vector<double> sums(static_cast<size_t>(ceil_div(moments.columns(), kSweepElements)));
  const auto factor = static_cast<float>(call.momentum);
  sweep(context, moments, [&](int64_t, int64_t first, int64_t count) {
    sums[static_cast<size_t>(first / kSweepElements)] = HWY_DYNAMIC_DISPATCH(run_momentum)(
        at<float>(gradients, 0, first), at<float>(moments, 0, first), static_cast<float>(clip), factor, count);
  });
  double squares = 0.0;
  for (const double sum : sums) {
    squares += sum;
  }
  const auto scale = static_cast<float>(squares > 0.0 ? 1.0 / std::sqrt(squares) : 0.0);
  sweep(context, moments, [&](int64_t, int64_t first, int64_t count) {
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

void muon_rows(Context& context, const MuonRows& call) {
  const bool runs = std::isfinite(*host<double>(call.squared_norm).data);
  const ConstView& direction = call.direction;
  std::vector<double> squares(static_cast<size_t>(direction.rows()));
  each_share(context, direction, 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      squares[static_cast<size_t>(r)] =
          direction.type() == DType::bf16
              ? HWY_DYNAMIC_DISPATCH(run_squares_bf16)(at<bf16>(direction, r, 0), direction.columns())
              : HWY_DYNAMIC_DISPATCH(run_squares_f32)(at<float>(direction, r, 0), direction.columns());
    }
  });
  float *const moments = host<float>(call.moments).data, *const factors = host<float>(call.factors).data;
  double before = 0.0, after = 0.0;
  for (size_t r = 0; r < squares.size(); ++r) {
    if (runs) {
      const double mean = squares[r] / static_cast<double>(direction.columns());
      moments[r] = static_cast<float>(call.kept * static_cast<double>(moments[r]) + (1.0 - call.kept) * mean);
    }
    const double factor = 1.0 / (std::sqrt(static_cast<double>(moments[r])) + kMuonRowEpsilon);
    before += squares[r];
    after += squares[r] * factor * factor;
  }
  const double whole = after > 0.0 ? std::sqrt(before / after) : 0.0;
  for (size_t r = 0; r < squares.size(); ++r) {
    factors[r] = static_cast<float>(whole / (std::sqrt(static_cast<double>(moments[r])) + kMuonRowEpsilon));
  }
}

void muon_step(Context& context, const MuonStep& call) {
  if (!std::isfinite(*host<double>(call.squared_norm).data)) {
    return;
  }
  // Without factors of rows, rows end to end are one.
  const bool by_rows = !call.row_factors.empty();
  const View weights = by_rows ? call.weights : flattened(call.weights);
  const ConstView direction = by_rows ? call.direction : flattened(call.direction);
  const View copy = call.copy.empty() || by_rows ? call.copy : flattened(call.copy);
  const auto kept = static_cast<float>(1.0 - call.learning_rate * call.weight_decay);
  const MuonFactors factors{.step = static_cast<float>(call.learning_rate * call.scale),
                            .kept = kept,
                            .kept_opposed = call.decay_kind == WeightDecay::cautious ? 1.0F : kept};
  sweep(context, weights, [&](int64_t row, int64_t first, int64_t count) {
    bf16* const to = copy.empty() ? nullptr : at<bf16>(copy, row, first);
    MuonFactors of_row = factors;
    of_row.step *= by_rows ? host<float>(call.row_factors).data[row] : 1.0F;
    if (direction.type() == DType::bf16) {
      HWY_DYNAMIC_DISPATCH(run_muon_step_bf16)
      (at<bf16>(direction, row, first), at<float>(weights, row, first), to, of_row, count);
    } else {
      HWY_DYNAMIC_DISPATCH(run_muon_step_f32)
      (at<float>(direction, row, first), at<float>(weights, row, first), to, of_row, count);
    }
  });
}

}  // namespace heed::cpu
#endif
