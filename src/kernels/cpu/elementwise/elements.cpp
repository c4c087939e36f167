#include "kernels/cpu/elementwise/elements.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/cpu/elementwise/sweep.h"

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

void fill(Context& context, const View& x, double value) {
  sweep(context, x, [&](int64_t row, int64_t first, int64_t count) {
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
  sweep(context, from, [&](int64_t row, int64_t first, int64_t count) {
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
  sweep(context, x, [&](int64_t row, int64_t first, int64_t count) {
    if (x.type() == DType::bf16) {
      HWY_DYNAMIC_DISPATCH(run_add_bf16)(at<bf16>(x, row, first), at<bf16>(into, row, first), count);
    } else {
      HWY_DYNAMIC_DISPATCH(run_add_f32)(at<float>(x, row, first), at<float>(into, row, first), count);
    }
  });
}

void scale(Context& context, const View& x, double factor) {
  sweep(context, x, [&](int64_t row, int64_t first, int64_t count) {
    if (x.type() == DType::bf16) {
      HWY_DYNAMIC_DISPATCH(run_scale_bf16)(at<bf16>(x, row, first), static_cast<float>(factor), count);
    } else {
      HWY_DYNAMIC_DISPATCH(run_scale_f32)(at<float>(x, row, first), static_cast<float>(factor), count);
    }
  });
}

void blend(Context& context, const ConstView& from, const View& into, double share) {
  ensure(from.rows() == into.rows() && from.columns() == into.columns(), "blend", "{} into {}", from, into);
  sweep(context, into, [&](int64_t row, int64_t first, int64_t count) {
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
      for (int64_t done = 0; done < range.count; done += kSweepElements) {
        sum += HWY_DYNAMIC_DISPATCH(run_squared_norm)(at<float>(x, 0, range.first + done),
                                                      std::min(kSweepElements, range.count - done));
      }
      host<double>(norms)(0, i) = sum;
    }
  });
}

void sum(const ConstView& x, const View& total) {
  const double* const values = host<double>(x).data;
  *host<double>(total).data = std::accumulate(values, values + x.columns(), 0.0);
}

}  // namespace heed::cpu
#endif
