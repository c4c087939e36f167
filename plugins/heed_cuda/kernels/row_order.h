// Rows of a batch in the order of their keys, such as their tokens: rows of one key follow each other, in the batch's order.
#pragma once

#include "heed_cuda/context.h"

namespace heed::cuda {

struct OrderedRows {
  const int32_t* keys = nullptr;  // ascending
  const int32_t* rows = nullptr;
  int64_t count = 0;
};

// Of the rows [first, first + count), with keys[row]. A row's place is the number of those before it, which takes count^2
// comparisons.
class RowOrder {
 public:
  RowOrder(Context& context, const int32_t* keys, int64_t first, int64_t count);

  OrderedRows rows() const;

 private:
  Tensor memory_;
  int64_t count_;
};

}  // namespace heed::cuda
