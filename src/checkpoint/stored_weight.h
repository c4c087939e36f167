// A weight as a file holds it: in f32, bf16 or f16, or as integers with a tensor of scales beside it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "heed/types/weight_type.h"
#include "ops/weight.h"
#include "tensor/half_type.h"
#include "tensor_files/tensor_file.h"

namespace heed {

// The name of the tensor with the scale of all inputs, which an int8 matrix may have beside its scales.
std::string input_scale_of(const std::string& weight);

// "int8"; of a type that weights do not have, as the file names it.
std::string name_of_stored(const StoredTensor& tensor, const TensorFile& file);
StoredType stored_as(WeightType type);
int64_t stored_bytes(const StoredTensor& tensor, const TensorFile& file);  // with its scales

// The scale of all inputs of an int8 matrix; 0: there is none. FormatError for one that is not above 0.
float read_input_scale(const TensorFile& file, const StoredTensor& matrix);

// FormatError unless the file has the weight with its shape, in a form that inference reads, with all that belongs to
// it.
void require_stored(const TensorFile& file, const Weight& weight);

// A weight in a file, in any form but panels. Its rows are read in order, converted and checked on the way;
// the memory of rows that were read before is released.
class StoredWeight {
 public:
  StoredWeight(const TensorFile& file, const Weight& weight);
  // Some of the rows, with the scales of these alone.
  StoredWeight(const TensorFile& file, const Weight& weight, RowSpan rows);
  ~StoredWeight() { file_.give_back(tensor_.bytes); }
  StoredWeight(const StoredWeight&) = delete;
  StoredWeight& operator=(const StoredWeight&) = delete;

  // All rows, in the one form that its use needs, floating types in `precision`.
  void load_into(Backend& backend, DType precision, Weight& weight);
  // Integers as the floats that they stand for.
  void read_integers(std::span<float> to);

 private:
  void repeat_scales();
  std::span<const std::byte> bytes_of_rows(RowSpan rows);
  ConstView floats(int64_t first, int64_t count);
  ConstView int8_rows(int64_t first, int64_t count);
  ConstView int4_rows(int64_t first, int64_t count);

  const TensorFile& file_;
  const StoredTensor& tensor_;
  Shape shape_;
  RowSpan rows_;
  std::vector<std::byte> buffer_;
  std::vector<float> floats_, scales_;
  float input_scale_ = 0.0F;
  bool has_groups_ = false;               // of int8
  HalfType scale_type_ = HalfType::bf16;  // of int4
  std::vector<int8_t> integers_;
};

}  // namespace heed
