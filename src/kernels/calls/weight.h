// Weights as kernels read them, and what packs them.
#pragma once

#include <functional>

#include "tensor/half_type.h"
#include "tensor/tensor.h"

namespace heed {

// A weight matrix in the form its backend multiplies fastest. Opaque; made by Backend::pack.
class PackedWeight {
 public:
  PackedWeight(int64_t rows, int64_t columns) : rows_(rows), columns_(columns) {}
  virtual ~PackedWeight() = default;

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  virtual int64_t bytes() const = 0;  // in memory
  // Whether it holds integers, so that products round what they multiply to integers, too.
  virtual bool holds_integers() const { return false; }

 private:
  int64_t rows_, columns_;
};

// [out, in], or a table's [vocabulary, model]. Where `packed` is set, forward reads it, and the matrix may be empty.
struct WeightView {
  ConstView matrix;  // storage type
  const PackedWeight* packed = nullptr;

  bool empty() const { return packed == nullptr && matrix.empty(); }
  int64_t rows() const { return packed != nullptr ? packed->rows() : matrix.rows(); }
  int64_t columns() const { return packed != nullptr ? packed->columns() : matrix.columns(); }
};

// The types of a product x W^T. Weights in bf16 serve inputs in f32 too: widened, they are exact, in half the memory.
struct ProductTypes {
  DType weights = DType::f32, inputs = DType::f32;
};

// Returns rows [first, first + count) of a matrix, which are requested in order. They stay valid until the next
// request.
using RowSource = std::function<ConstView(int64_t first, int64_t count)>;

// A matrix of integers within +-127 with a scale for each row: W[r, c] = scales[r] * values[r, c].
struct Int8Matrix {
  Shape shape;
  RowSource values;          // i8
  ConstView scales;          // master type [1, rows]
  float input_scale = 0.0F;  // of all rows that it multiplies; 0: each has its own
};

// A matrix of integers from -8 to 7 with a scale for each group of kInt4Group neighbouring columns of a row:
// W[r, c] = scales[r, c / kInt4Group] * values[r, c].
struct Int4Matrix {
  Shape shape;
  RowSource values;  // i8
  ConstView scales;  // master type [rows, groups], of values that scale_type represents
  HalfType scale_type = HalfType::bf16;
};

// A matrix of integers in 8 bits with a scale for each group of kInt8Group neighbouring columns of a row:
// W[r, c] = scales[r, c / kInt8Group] * values[r, c].
struct Int8GroupMatrix {
  Shape shape;
  RowSource values;  // i8
  ConstView scales;  // master type [rows, groups], of values that f16 represents
};

}  // namespace heed
