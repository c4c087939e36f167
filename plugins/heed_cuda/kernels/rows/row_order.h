// Rows of a batch in the order of their keys, such as their tokens: rows of one key follow each other, in the batch's
// order.
#pragma once

#include "heed_cuda/context.h"
#include "heed_cuda/device/language.h"

namespace heed::cuda {

struct OrderedRows {
  const int32_t* keys = nullptr;  // ascending
  const int32_t* rows = nullptr;
  int64_t count = 0;
};

// Several orders of the same rows.
constexpr int kMostOrders = 3;
struct RowKeys {
  const int32_t* keys[kMostOrders] = {};  // of each order, by row
  int count = 0;
};

// The order of the rows [first, first + count). A row's place is the number of those before it, which takes count^2
// comparisons.
class RowOrders {
 public:
  RowOrders(Context& context, const RowKeys& keys, int64_t first, int64_t count);

  OrderedRows of(int order) const;

 private:
  Tensor memory_;
  int64_t count_;
};

}  // namespace heed::cuda
