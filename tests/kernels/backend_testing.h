// Helpers for the tests of all backends: operands inside guards, random contents, comparison.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/rounding.h"
#include "kernels/kernels.h"
#include "kernels/reference/values.h"

namespace heed::test {

// The layout of an operand in memory, in elements: `padding` between its rows, `offset` from a cache line to the first
// one.
struct Layout {
  int64_t padding = 5, offset = 3;
};
inline constexpr Layout kTight{0, 0};

// While one lives, new operands that are not tight begin, and so do their rows, at multiples of 16 elements: for backends
// that move many bytes at a time where they can.
class AlignedOperands {
 public:
  AlignedOperands() { ++count_; }
  ~AlignedOperands() { --count_; }
  AlignedOperands(const AlignedOperands&) = delete;
  AlignedOperands& operator=(const AlignedOperands&) = delete;

  static Layout layout_of(Layout wanted, int64_t columns) {
    const bool tight = wanted.padding == 0 && wanted.offset == 0;
    return count_ == 0 || tight ? wanted : Layout{round_up(columns, 16) - columns + 16, 0};
  }

 private:
  static inline int count_ = 0;
};

// A matrix surrounded by guards: before it, after it, and between its rows every byte is 0xff (NaN in the floating
// types), so that a kernel that reads there gives wrong results, and untouched() notices one that writes there.
// Elements are 0xff too until they are set. Copies share the memory. A default-constructed one is a missing operand.
class Guarded {
 public:
  Guarded() = default;
  Guarded(DType type, int64_t rows, int64_t columns, Layout layout = {}) {
    constexpr int64_t kGuard = 64;
    layout = AlignedOperands::layout_of(layout, columns);
    const int64_t stride = columns + layout.padding;
    bytes_ = (2 * kGuard + layout.offset + rows * stride) * size_of(type);
    bytes_ = round_up(bytes_, 64);
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, static_cast<size_t>(bytes_))), std::free);
    std::memset(memory_.get(), 0xff, static_cast<size_t>(bytes_));
    view_ = View(memory_.get() + (kGuard + layout.offset) * size_of(type), type, rows, columns, stride);
  }

  const View& view() const { return view_; }
  int64_t rows() const { return view_.rows(); }
  int64_t columns() const { return view_.columns(); }
  DType type() const { return view_.type(); }
  bool empty() const { return view_.empty(); }

  double get(int64_t r, int64_t c) const { return reference::get(view_, r, c); }
  void set(int64_t r, int64_t c, double value) const { reference::set(view_, r, c, value); }

  const std::byte* row(int64_t r) const {
    return static_cast<const std::byte*>(host_address(view_)) + r * view_.stride() * size_of(type());
  }
  size_t row_bytes() const { return static_cast<size_t>(columns() * size_of(type())); }

  // The same memory, fewer rows.
  Guarded rows(int64_t first, int64_t count) const {
    Guarded part = *this;
    if (!empty()) {
      part.view_ = view_.row_range(first, count);
    }
    return part;
  }

  // Only for a whole operand: whether all guards are unchanged.
  bool untouched() const {
    const std::byte* at = memory_.get();
    const std::byte* const end = at + bytes_;
    const auto intact = [&at](const std::byte* until) {
      bool same = true;
      for (; at < until; ++at) {
        same = same && *at == std::byte{0xff};
      }
      return same;
    };
    bool same = true;
    for (int64_t r = 0; r < rows(); ++r) {
      same = intact(row(r)) && same;
      at += row_bytes();
    }
    return intact(end) && same;
  }

 private:
  std::shared_ptr<std::byte> memory_;
  int64_t bytes_ = 0;
  View view_;
};

// The element types of a call's operands.
struct Types {
  DType storage, master;
};
inline constexpr Types kReferenceTypes{DType::f64, DType::f64};

// Standard normal draws, scaled.
inline Guarded random(DType type, int64_t rows, int64_t columns, uint64_t seed, double scale = 1.0,
                      Layout layout = {}) {
  Guarded x(type, rows, columns, layout);
  const RandomKey key{mix_bits(seed + 1)};
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      x.set(r, c, scale * normal_draw(key, static_cast<uint64_t>(r * columns + c)));
    }
  }
  return x;
}

inline Guarded converted(const Guarded& from, DType type, Layout layout = {}) {
  if (from.empty()) {
    return {};
  }
  Guarded to(type, from.rows(), from.columns(), layout);
  for (int64_t r = 0; r < from.rows(); ++r) {
    for (int64_t c = 0; c < from.columns(); ++c) {
      to.set(r, c, from.get(r, c));
    }
  }
  return to;
}

inline Guarded clone(const Guarded& from, Layout layout = {}) { return converted(from, from.type(), layout); }

inline Guarded integers(const std::vector<int64_t>& values) {
  Guarded x(DType::i32, 1, static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    x.set(0, static_cast<int64_t>(i), static_cast<double>(values[i]));
  }
  return x;
}

// `count` integers in [0, limit).
inline Guarded random_integers(int64_t count, int64_t limit, uint64_t seed) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<int64_t>(uniform_draw(RandomKey{mix_bits(seed)}, static_cast<uint64_t>(i)) *
                                          static_cast<double>(limit)));
  }
  return integers(values);
}

inline Dropout dropout_of(float probability, uint64_t first_row = 11) {
  return Dropout::of(Probability(probability), RandomKey{}.derive("dropout"), first_row);
}

// An error may be `relative` times the expected value plus `of_typical` times the whole result's root mean square: sums
// whose terms cancel can't be judged by their own size. `absolute` is for results that are zero everywhere.
struct Tolerance {
  double relative, of_typical, absolute = 0.0;
};
inline constexpr Tolerance kF32{1e-5, 1e-5};
// Half of bf16's last place, and the f32 arithmetic before it was rounded.
inline constexpr Tolerance kRoundedToBf16{0x1.01p-8, 1e-5};

inline Tolerance tolerance_of(DType type) { return type == DType::bf16 ? kRoundedToBf16 : kF32; }

inline double root_mean_square(const Guarded& x) {
  double sum = 0.0;
  int64_t finite = 0;
  for (int64_t r = 0; r < x.rows(); ++r) {
    for (int64_t c = 0; c < x.columns(); ++c) {
      if (std::isfinite(x.get(r, c))) {
        sum += x.get(r, c) * x.get(r, c);
        ++finite;
      }
    }
  }
  return finite == 0 ? 0.0 : std::sqrt(sum / static_cast<double>(finite));
}

// Whether `actual` equals `expected` within the tolerance, with the same infinities, no NaN, and no guard overwritten.
inline ::testing::AssertionResult close(const Guarded& actual, const Guarded& expected, Tolerance tolerance) {
  if (actual.rows() != expected.rows() || actual.columns() != expected.columns()) {
    return ::testing::AssertionFailure() << actual.view().text() << " against " << expected.view().text();
  }
  if (!actual.untouched()) {
    return ::testing::AssertionFailure() << "memory outside of the " << actual.view().text() << " was written to";
  }
  const double typical = root_mean_square(expected);
  for (int64_t r = 0; r < expected.rows(); ++r) {
    for (int64_t c = 0; c < expected.columns(); ++c) {
      const double a = actual.get(r, c), e = expected.get(r, c);
      const double allowed = tolerance.relative * std::abs(e) + tolerance.of_typical * typical + tolerance.absolute;
      if (a != e && !(std::abs(a - e) <= allowed && std::isfinite(e))) {
        return ::testing::AssertionFailure() << actual.view().text() << " at (" << r << ", " << c << ") is " << a
                                             << ", expected " << e << " within " << allowed;
      }
    }
  }
  return ::testing::AssertionSuccess();
}

// Whether two operands hold the same bits.
inline ::testing::AssertionResult same_bits(const Guarded& a, const Guarded& b) {
  if (a.rows() != b.rows() || a.columns() != b.columns() || a.type() != b.type()) {
    return ::testing::AssertionFailure() << a.view().text() << " against " << b.view().text();
  }
  for (int64_t r = 0; r < a.rows(); ++r) {
    if (std::memcmp(a.row(r), b.row(r), a.row_bytes()) != 0) {
      for (int64_t c = 0; c < a.columns(); ++c) {
        const size_t size = static_cast<size_t>(size_of(a.type()));
        const size_t at = static_cast<size_t>(c) * size;
        if (std::memcmp(a.row(r) + at, b.row(r) + at, size) != 0) {
          return ::testing::AssertionFailure() << a.view().text() << " at (" << r << ", " << c << "): " << a.get(r, c)
                                               << " and " << b.get(r, c) << " differ";
        }
      }
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace heed::test
