#include "quant/compensated_int4.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/rounding.h"
#include "kernels/integer_rows.h"

namespace heed {
namespace {

constexpr double kDamping = 0.01;

// R[j, k] / R[k, k] for j < k, row k by row k.
class Feedback {
 public:
  explicit Feedback(const Tensor& squares)
      : columns_(squares.shape()[0]), values_(static_cast<size_t>(squares.elements())) {
    std::copy_n(squares.data<float>(), squares.elements(), values_.begin());
    double sum = 0.0;
    for (int64_t k = 0; k < columns_; ++k) {
      sum += row(k)[k];
    }
    const double added = sum > 0.0 ? kDamping * sum / static_cast<double>(columns_) : 1.0;
    for (int64_t k = 0; k < columns_; ++k) {
      row(k)[k] += added;
    }
    for (int64_t k = columns_ - 1; k >= 0; --k) {
      eliminate(k);
    }
  }

  const double* of(int64_t column) const { return values_.data() + column * columns_; }

 private:
  double* row(int64_t k) { return values_.data() + k * columns_; }

  // Makes row k of what is left of H, whose lower triangle is read, column k of R over its diagonal, and takes that
  // column's share from the rows before it.
  void eliminate(int64_t k) {
    double* const at = row(k);
    const double squared = at[k];
    for (int64_t i = 0; i < k; ++i) {
      const double factor = at[i] / squared;
      double* const other = row(i);
      for (int64_t j = 0; j <= i; ++j) {
        other[j] -= factor * at[j];
      }
    }
    for (int64_t j = 0; j < k; ++j) {
      at[j] /= squared;
    }
  }

  int64_t columns_;
  std::vector<double> values_;
};

// Some rows of W at a time, side by side.
constexpr int64_t kLanes = 8;
using Lane = std::array<double, kLanes>;

class RowsRounding {
 public:
  RowsRounding(const Feedback& feedback, std::span<const float> values, IntegerMatrix& whole)
      : feedback_(feedback), values_(values), whole_(whole), columns_(whole.shape.columns()) {}

  void round(int64_t first_row) {
    first_row_ = first_row;
    rows_ = std::min(kLanes, whole_.shape.rows() - first_row);
    errors_.assign(static_cast<size_t>(columns_), Lane{});
    for (int64_t begin = 0; begin < columns_; begin += whole_.group()) {
      round_group(begin);
    }
  }

 private:
  // What the columns [from, to) leave to column k.
  void add_feedback(int64_t k, int64_t from, int64_t to, Lane& sum) const {
    const double* const factors = feedback_.of(k);
    for (int64_t j = from; j < to; ++j) {
      const Lane& error = errors_[static_cast<size_t>(j)];
      for (size_t lane = 0; lane < kLanes; ++lane) {
        sum[lane] += factors[j] * error[lane];
      }
    }
  }

  void round_group(int64_t begin) {
    const int64_t group = whole_.group();
    std::vector<Lane> wanted(static_cast<size_t>(group), Lane{});
    for (int64_t k = 0; k < group; ++k) {
      Lane& column = wanted[static_cast<size_t>(k)];
      add_feedback(begin + k, 0, begin, column);
      for (int64_t r = 0; r < rows_; ++r) {
        column[static_cast<size_t>(r)] += static_cast<double>(values_[index(r, begin + k)]);
      }
    }
    choose_scales(begin, wanted);
    for (int64_t k = 0; k < group; ++k) {
      Lane& column = wanted[static_cast<size_t>(k)];
      add_feedback(begin + k, begin, begin + k, column);
      for (int64_t r = 0; r < rows_; ++r) {
        const size_t at = index(r, begin + k);
        const float scale = whole_.scales[at / static_cast<size_t>(group)];
        whole_.values[at] = rounded_to_int4(static_cast<float>(column[static_cast<size_t>(r)]), scale);
        errors_[static_cast<size_t>(begin + k)][static_cast<size_t>(r)] =
            static_cast<double>(values_[at]) - static_cast<double>(whole_.value(at));
      }
    }
  }

  void choose_scales(int64_t begin, const std::vector<Lane>& wanted) {
    std::vector<float> row(wanted.size());
    for (int64_t r = 0; r < rows_; ++r) {
      std::ranges::transform(wanted, row.begin(),
                             [r](const Lane& lane) { return static_cast<float>(lane[static_cast<size_t>(r)]); });
      whole_.scales[index(r, begin) / wanted.size()] = int4_scale(row);
    }
  }

  size_t index(int64_t row, int64_t column) const {
    return static_cast<size_t>((first_row_ + row) * columns_ + column);
  }

  const Feedback& feedback_;
  std::span<const float> values_;
  IntegerMatrix& whole_;
  int64_t columns_, first_row_ = 0, rows_ = 0;
  std::vector<Lane> errors_;  // W - Q by column
};

}  // namespace

IntegerMatrix to_compensated_int4(ThreadPool& pool, std::span<const float> values, const Shape& shape, int64_t group,
                                  const Tensor& squares) {
  ensure(squares.shape() == Shape({shape.columns(), shape.columns()}), "int4", "squares {} of inputs for {}",
         squares.shape(), shape);
  IntegerMatrix whole{shape, std::vector<int8_t>(values.size()), {}};
  whole.scales.resize(values.size() / static_cast<size_t>(group));
  const Feedback feedback(squares);
  pool.run(ceil_div(shape.rows(), kLanes),
           [&](int64_t task, int) { RowsRounding(feedback, values, whole).round(task * kLanes); });
  return whole;
}

}  // namespace heed
