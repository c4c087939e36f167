// What a model's products read while it runs over a text.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/tape.h"
#include "quant/product_error.h"

namespace heed {

// Whether X^T X is wanted, too.
enum class Squares : uint8_t { none, wanted };

// The inputs of one product, row by row.
class ProductInputs {
 public:
  ProductInputs(int64_t columns, Squares squares);

  void see(Backend& backend, const ConstView& x);

  // At most kSampledRows of every fourth row that was seen, evenly spaced.
  InputRows sample() const { return {sample_, columns_}; }
  // The largest magnitude in each column, of all rows.
  const std::vector<float>& largest() const { return largest_; }
  // X^T X of the rows that the sample does not choose from; empty where it is not wanted.
  const Tensor& squares() const { return squares_; }

  static constexpr int64_t kSampledRows = 1024;

 private:
  void keep(const float* row);

  int64_t columns_, seen_ = 0;
  int64_t offered_ = 0, stride_ = 1;  // of the rows offered to the sample, each stride_-th is in it
  std::vector<float> sample_, largest_;
  Tensor squares_;
};

// By the name of the weight.
using InputsByWeight = std::map<std::string, ProductInputs>;

// Sees a recorded pass.
class InputObserver : public TapeObserver {
 public:
  InputObserver(Backend& backend, Squares squares, InputsByWeight& inputs)
      : backend_(backend), squares_(squares), inputs_(inputs) {}
  void recorded(const Op& op) override;

 private:
  Backend& backend_;
  Squares squares_;
  InputsByWeight& inputs_;
};

}  // namespace heed
