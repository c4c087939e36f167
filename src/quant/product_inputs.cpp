#include "quant/product_inputs.h"

#include <algorithm>
#include <cmath>

#include "kernels/calls/linear.h"

namespace heed {
namespace {

constexpr int64_t kSampleChooses = 4;  // from every fourth row

}  // namespace

ProductInputs::ProductInputs(int64_t columns, Squares squares)
    : columns_(columns), largest_(static_cast<size_t>(columns), 0.0F) {
  if (squares == Squares::wanted) {
    squares_ = Tensor({columns, columns}, DType::f32);
    std::fill_n(squares_.data<float>(), squares_.elements(), 0.0F);
  }
}

void ProductInputs::see(Backend& backend, const ConstView& x) {
  const HostView<const float> rows = host<float>(x);
  std::vector<float> others;
  others.reserve(static_cast<size_t>(x.elements()));
  for (int64_t r = 0; r < rows.rows; ++r, ++seen_) {
    const float* const row = rows.row(r);
    for (int64_t k = 0; k < columns_; ++k) {
      largest_[static_cast<size_t>(k)] = std::max(largest_[static_cast<size_t>(k)], std::abs(row[k]));
    }
    if (seen_ % kSampleChooses == 0) {
      keep(row);
    } else {
      others.insert(others.end(), row, row + columns_);
    }
  }
  if (!others.empty() && !squares_.empty()) {
    const auto count = static_cast<int64_t>(others.size()) / columns_;
    const View view(others.data(), DType::f32, count, columns_, columns_);
    backend.linear_weight_gradient(
        {.d_y = view, .x = view, .d_weight = squares_.view(), .d_bias = {}, .write = Write::add});
  }
}

// When the sample is full, every second row of it is dropped.
void ProductInputs::keep(const float* row) {
  const auto columns = static_cast<size_t>(columns_);
  if (offered_ % stride_ == 0) {
    if (sample_.size() == static_cast<size_t>(kSampledRows) * columns) {
      for (size_t kept = 1; kept < kSampledRows / 2; ++kept) {
        std::copy_n(sample_.begin() + static_cast<int64_t>(2 * kept * columns), columns,
                    sample_.begin() + static_cast<int64_t>(kept * columns));
      }
      sample_.resize(kSampledRows / 2 * columns);
      stride_ *= 2;
    }
    if (offered_ % stride_ == 0) {
      sample_.insert(sample_.end(), row, row + columns_);
    }
  }
  ++offered_;
}

void InputObserver::recorded(const Op& op) {
  if (const auto* const product = std::get_if<LinearOp>(&op)) {
    const auto it = inputs_.try_emplace(product->weights.weight->name(), product->x.columns(), squares_).first;
    it->second.see(backend_, product->x.value());
  }
}

}  // namespace heed
