#include "kernels/cpu/optimizer/adam.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/elementwise/sweep.h"

#ifndef HEED_KERNELS_CPU_ADAM_ONCE
#define HEED_KERNELS_CPU_ADAM_ONCE
namespace heed::cpu {

// The constants of one sweep, computed once in double.
struct AdamConstants {
  float clip, beta1, rest1, beta2, rest2, step_size, root_correction, epsilon, coupled_decay, kept;
};

}  // namespace heed::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/optimizer/adam.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

template <WeightDecay kind>
HWY_INLINE void step_by_adam(const AdamConstants& k, const float* gradients, float* weights, float* first,
                             float* second, bf16* copy, int64_t count) {
  const Floats d;
  const auto set = [&](float x) HWY_ATTR { return hn::Set(d, x); };
  each_vector(count, [&](int64_t i, int64_t left) HWY_ATTR {
    Vec w = load_upto(weights + i, left);
    const Vec g = hn::MulAdd(set(k.coupled_decay), w, hn::Mul(set(k.clip), load_upto(gradients + i, left)));
    const Vec m = hn::MulAdd(set(k.beta1), load_upto(first + i, left), hn::Mul(set(k.rest1), g));
    const Vec v = hn::MulAdd(set(k.beta2), load_upto(second + i, left), hn::Mul(set(k.rest2), hn::Mul(g, g)));
    const Vec deviation = hn::MulAdd(hn::Sqrt(v), set(k.root_correction), set(k.epsilon));
    Vec kept = set(k.kept);
    if constexpr (kind == WeightDecay::cautious) {
      kept = hn::IfThenElse(hn::Ge(hn::Mul(m, w), set(0.0F)), kept, set(1.0F));
    }
    w = hn::NegMulAdd(set(k.step_size), hn::Div(m, deviation), hn::Mul(kept, w));
    store_upto(m, first + i, left);
    store_upto(v, second + i, left);
    store_upto(w, weights + i, left);
    if (copy != nullptr) {
      store_upto(w, copy + i, left);
    }
  });
}
void run_adam(const AdamConstants& k, const float* gradients, float* weights, float* first, float* second, bf16* copy,
              int64_t count) {
  step_by_adam<WeightDecay::decoupled>(k, gradients, weights, first, second, copy, count);
}
void run_cautious_adam(const AdamConstants& k, const float* gradients, float* weights, float* first, float* second,
                       bf16* copy, int64_t count) {
  step_by_adam<WeightDecay::cautious>(k, gradients, weights, first, second, copy, count);
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_adam);
HWY_EXPORT(run_cautious_adam);

namespace {

AdamConstants constants_of(const AdamSweep& call, double clip, double step, Decays decays) {
  const bool decoupled = call.decay_kind != WeightDecay::coupled;
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
  const bool cautious = call.decay_kind == WeightDecay::cautious;
  const auto run = [cautious](auto... operands) {
    if (cautious) {
      HWY_DYNAMIC_DISPATCH(run_cautious_adam)(operands...);
    } else {
      HWY_DYNAMIC_DISPATCH(run_adam)(operands...);
    }
  };
  for (const ElementRange& range : call.ranges) {
    sweep(context, call.weights.column_range(range.first, range.count), [&](int64_t, int64_t span, int64_t count) {
      const int64_t first = range.first + span;
      run(range.decays == Decays::yes ? decaying : spared, at<float>(call.gradients, 0, first),
          at<float>(call.weights, 0, first), at<float>(call.first_moments, 0, first),
          at<float>(call.second_moments, 0, first), call.copy.empty() ? nullptr : at<bf16>(call.copy, 0, first), count);
    });
  }
}

}  // namespace heed::cpu
#endif
